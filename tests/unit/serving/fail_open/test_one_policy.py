"""A request is decided by one policy from end to end, whatever is swapped, drawn or forked."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import InputError
from rl_rewriter.logs.store import read_records
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.limits import Budget
from tests.support import fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, own


def test_the_same_seed_gives_the_same_decision(lexical: Bm25Retriever) -> None:
    checkpoint = fixed_checkpoint(lexical, "keywords")
    one, other = (RLQueryRewriter(lexical, checkpoint=checkpoint, seed=seed) for seed in (1, 2))
    drawn = [
        [rewriter.decide(ASKED, explore=True, seed=seed).action for seed in range(40)]
        for rewriter in (one, other)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 1
    with pytest.raises(InputError, match="whole number"):
        one.decide(ASKED, seed="7")  # type: ignore[arg-type]  # that is what is tested


class Sides:
    """Two policies, a session each; the third is a shadow; the fourth has none."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self.checkpoints = checkpoints
        self.asked: list[str] = []

    def choose(self, session: str) -> Assignment:
        self.asked.append(session)
        if session == "nobody":
            return Assignment(reason="no_policy")
        if session == "broken":
            raise OSError("the registry is gone")
        is_shadow = session == "shadow"
        checkpoint = self.checkpoints[0 if session == "a" else 1]
        return Assignment(checkpoint=checkpoint, tags={"side": session}, shadow=is_shadow)


def test_a_deployment_chooses_once_a_request(lexical: Bm25Retriever, tmp_path: Path) -> None:
    checkpoints = [fixed_checkpoint(lexical, action) for action in ("keywords", "top_idf_4")]
    sides = Sides(checkpoints)
    log = tmp_path / "log.jsonl"
    rewriter = RLQueryRewriter(lexical, deployment=sides, log=log)
    for session, action in [("a", "keywords"), ("b", "top_idf_4")]:
        decision = rewriter.decide(ASKED, session=session)
        assert decision.action == action
        assert decision.tags == {"session_id": session, "side": session}
        rewriter.record(decision, [], tags={"mine": 1})
    shadowed = rewriter.retrieve(ASKED, k=4, session="shadow")
    decision = shadowed.decision
    assert (decision.reason, decision.action, decision.propensity) == ("shadow", "keep", 1.0)
    assert decision.probabilities == {"keep": 1.0}
    assert decision.tags == {
        "session_id": "shadow",
        "side": "shadow",
        "shadow_action": "top_idf_4",
        "shadow_version": checkpoints[1].policy.version,
        "shadow_probability": 1.0,
    }
    assert shadowed.ranking.ids == own(lexical).ids
    assert rewriter.decide(ASKED, session="nobody").reason == "fallback:no_policy"
    assert rewriter.decide(ASKED, session="broken").reason == "fallback:adapter"
    assert sides.asked == ["a", "b", "shadow", "nobody", "broken"]
    assert [record["tags"] for record in read_records(log)] == [
        {"mine": 1, "session_id": "a", "side": "a"},
        {"mine": 1, "session_id": "b", "side": "b"},
    ]


def test_no_request_mixes_two_policies(lexical: Bm25Retriever) -> None:
    """Swapped all the time under load, each decision is one version's from end to end."""
    checkpoints = {
        checkpoint.policy.version: action
        for action in ("keywords", "top_idf_4")
        for checkpoint in [fixed_checkpoint(lexical, action)]
    }
    made = [fixed_checkpoint(lexical, action) for action in checkpoints.values()]
    rewriter = RLQueryRewriter(lexical, checkpoint=made[0], budget=Budget(seconds=30.0))
    over = threading.Event()

    def swap() -> None:
        while not over.wait(0.001):
            rewriter.swap(made[0])
            rewriter.swap(made[1])

    swapping = threading.Thread(target=swap)
    swapping.start()
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda _: rewriter.decide(ASKED), range(400)))
    over.set()
    swapping.join()
    assert all(checkpoints[made.policy_version] == made.action for made in decisions)
    assert rewriter.counters["requests"] == 400
    assert rewriter.counters["reasons"] == {"policy": 400}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_decides(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), budget=Budget(seconds=30.0)
    )
    rewriter.decide(ASKED)
    with rewriter._guard.counters._lock, rewriter._guard.breaker._lock:  # held by another thread
        child = os.fork()
        if child == 0:
            os._exit(0 if rewriter.decide(ASKED, explore=True).propensity > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert rewriter.decide(ASKED).action == "keywords"
