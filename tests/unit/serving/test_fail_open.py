"""Whatever fails, stalls or is rubbish: the query's own documents, a name, a count; or strict."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter import Query, Ranking, Rewrite, RLQueryRewriter
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import CheckpointError, InputError, ServingError
from rl_rewriter.logs.store import DecisionLog, read_records
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import Budget
from rl_rewriter.serving.workers import Workers
from rl_rewriter.types import Evidence, Needs
from tests.faults import Stall, faulty_checkpoint, with_policy
from tests.support import (
    DOCUMENTS,
    QUERIES,
    TokenEmbedder,
    chroma_collection,
    fixed_checkpoint,
)

ASKED = QUERIES[0]
SHORT = Budget(seconds=0.3)


@pytest.fixture
def lexical() -> Bm25Retriever:
    return Bm25Retriever(DOCUMENTS)


@pytest.fixture
def stall() -> Iterator[Stall]:
    held = Stall()
    yield held
    held.let_go()


def own(retriever: Any, k: int = 4) -> Ranking:
    [ranking] = retriever.search([Rewrite((ASKED,))], k=k, with_documents=True)
    found: Ranking = ranking
    return found


def assert_kept(rewriter: RLQueryRewriter, retriever: Any, reason: str) -> None:
    """The query's own documents, under that reason, and counted."""
    before = rewriter.counters["reasons"].get(reason, 0)
    found = rewriter.retrieve(ASKED, k=4, retriever=retriever)
    assert found.decision.reason == reason
    assert found.decision.action == "keep"
    assert found.decision.rewrite == Rewrite((ASKED,))
    assert (found.ranking.ids, found.ranking.texts) == (own(retriever).ids, own(retriever).texts)
    assert rewriter.counters["reasons"][reason] == before + 1


def _raise(evidence: Evidence) -> Rewrite:
    raise ZeroDivisionError(evidence.query.text)


def _exit(evidence: Evidence) -> Rewrite:
    raise SystemExit(3)


RUBBISH: Mapping[str, Callable[[Evidence], Any]] = {
    "raises": _raise,
    "a text": lambda evidence: "a rewrite",
    "blank": lambda evidence: Rewrite(("  ",)),
    "number": lambda evidence: Rewrite((7,)),  # type: ignore[arg-type]  # that is the fault
    "nan": lambda evidence: Rewrite(("x",), vector=np.asarray([np.nan], dtype=np.float32)),
    "matrix": lambda evidence: Rewrite(("x",), vector=np.ones((2, 2), dtype=np.float32)),
    "list": lambda evidence: Rewrite(("x",), vector=[1.0]),  # type: ignore[arg-type]  # the fault
}


@pytest.mark.parametrize("what", RUBBISH)
def test_actions_that_fail_or_make_rubbish(lexical: Bm25Retriever, what: str) -> None:
    checkpoint = faulty_checkpoint(lexical, RUBBISH[what])
    assert_kept(RLQueryRewriter(checkpoint=checkpoint), lexical, "fallback:action_error")
    with pytest.raises(ServingError) as caught:
        RLQueryRewriter(checkpoint=checkpoint, strict=True).retrieve(ASKED, retriever=lexical)
    assert caught.value.reason == "action_error"
    assert caught.value.__cause__ is not None
    assert ASKED not in str(caught.value)


def test_an_action_that_asks_for_an_exit(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(lexical, _exit))
    assert_kept(rewriter, lexical, "fallback:adapter")


class OddPolicy:
    """A policy whose distribution is made by a function of the mask."""

    name, version = "odd", "0"

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.n_actions = self.n_features = 0
        self._make = make

    def distribution(self, states: Any, mask: Any) -> Any:
        return self._make(mask)


@dataclass(frozen=True)
class OutOfRange:
    """Probabilities as they should be, and an action that isn't there."""

    probabilities: Any
    action: int

    def greedy(self) -> Any:
        return np.asarray([self.action])


def _even(mask: Any) -> Any:
    return mask / mask.sum()


ODD: Mapping[str, Callable[[Any], Any]] = {
    "none": lambda mask: None,
    "nan": lambda mask: Categorical(np.full(mask.shape, np.nan)),
    "shape": lambda mask: Categorical(np.ones((1, 1))),
    "sum": lambda mask: Categorical(np.ones(mask.shape)),
    "negative": lambda mask: Categorical(np.asarray([[2.0, -1.0]])),
    "above": lambda mask: OutOfRange(_even(mask), 2),
    "below": lambda mask: OutOfRange(_even(mask), -1),
}


@pytest.mark.parametrize("what", ODD)
def test_policies_that_give_rubbish(lexical: Bm25Retriever, what: str) -> None:
    sound = faulty_checkpoint(lexical, lambda evidence: None)
    checkpoint = with_policy(sound, OddPolicy(ODD[what]))
    assert_kept(RLQueryRewriter(checkpoint=checkpoint), lexical, "fallback:policy_error")


class OddRetriever(Bm25Retriever):
    """Finds what it should for the query alone, once it has been odd about evidence."""

    odd: Callable[[list[Ranking]], Any] | None = None

    def search(self, rewrites: Sequence[Rewrite], **settings: Any) -> Any:
        found = super().search(rewrites, **settings)
        odd, self.odd = self.odd, None
        return found if odd is None else odd(found)


ANSWERS: Mapping[str, Callable[[list[Ranking]], Any]] = {
    "none": lambda found: None,
    "none inside": lambda found: [None],
    "too few": lambda found: [],
    "too many": lambda found: found * 2,
    "nan": lambda found: [replace(found[0], scores=np.full(len(found[0]), np.nan))],
    "text scores": lambda found: [replace(found[0], scores=np.asarray(["a"] * len(found[0])))],
    "short scores": lambda found: [replace(found[0], scores=found[0].scores[:1])],
    "short texts": lambda found: [replace(found[0], texts=("one",))],
}


@pytest.mark.parametrize("what", ANSWERS)
def test_evidence_that_is_rubbish(what: str) -> None:
    retriever = OddRetriever(DOCUMENTS)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(retriever, "keywords"))
    retriever.odd = ANSWERS[what]
    assert_kept(rewriter, retriever, "fallback:evidence")


@pytest.mark.parametrize("what", ANSWERS)
def test_what_a_rewrite_finds_that_is_rubbish(what: str) -> None:
    retriever = OddRetriever(DOCUMENTS)

    def go_wrong_next(evidence: Evidence) -> Rewrite:
        retriever.odd = ANSWERS[what]
        return Rewrite(("card account",))

    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(retriever, go_wrong_next))
    assert_kept(rewriter, retriever, "fallback:search")


class SlowEmbedder(TokenEmbedder):
    """Stalls on the first query from when it is told to."""

    stall: Stall | None = None

    def embed_query(self, text: str) -> list[float]:
        stall, self.stall = self.stall, None
        if stall is not None:
            stall()
        return super().embed_query(text)


def test_a_slow_embedder(stall: Stall, tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    retriever = chroma_retriever(chroma_collection(), embedder, cache_dir=tmp_path)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(retriever, "keywords"), budget=SHORT)
    embedder.stall = stall
    assert_kept(rewriter, retriever, "fallback:timeout")


def test_a_slow_action_and_the_next_request(lexical: Bm25Retriever, stall: Stall) -> None:
    slow = [stall]

    def make(evidence: Evidence) -> Rewrite:
        if slow:
            slow.pop()()
        return Rewrite(("refund",))

    checkpoint = faulty_checkpoint(lexical, make)
    told: list[Served] = []
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=SHORT, listeners=[told.append])
    assert_kept(rewriter, lexical, "fallback:timeout")
    assert rewriter.retrieve(ASKED, k=4, retriever=lexical).decision.action == "faulty"
    stall.let_go()
    assert [served.decision.reason for served in told] == ["fallback:timeout", "policy"]
    assert rewriter.counters["requests"] == 2


def test_stuck_threads_are_not_added_to_for_ever(lexical: Bm25Retriever, stall: Stall) -> None:
    rewriter = RLQueryRewriter(
        checkpoint=faulty_checkpoint(lexical, stall),
        budget=SHORT,
        breaker=BreakerConfig(failures=None),
    )
    rewriter._guard.workers = Workers(limit=2)
    for reason in ("timeout", "timeout", "overloaded", "overloaded"):
        assert_kept(rewriter, lexical, f"fallback:{reason}")
    assert rewriter._guard.workers.stuck == 2


def test_strict_raises_where_time_is_up(lexical: Bm25Retriever, stall: Stall) -> None:
    checkpoint = faulty_checkpoint(lexical, stall)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=SHORT, strict=True)
    for _ in range(7):  # no circuit opens in between
        with pytest.raises(ServingError, match="fallback:timeout"):
            rewriter.decide(ASKED, retriever=lexical)


@pytest.mark.parametrize("text", ["", " \n", "x" * 20_000])
def test_strict_keeps_what_is_kept_by_rule(lexical: Bm25Retriever, text: str) -> None:
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), strict=True
    )
    assert rewriter.decide(text).reason in ("fallback:blank_query", "fallback:long_query")


def test_without_a_time_limit_nothing_runs_elsewhere(lexical: Bm25Retriever) -> None:
    seen: list[threading.Thread] = []

    def make(evidence: Evidence) -> None:
        seen.append(threading.current_thread())

    checkpoint = faulty_checkpoint(lexical, make)
    RLQueryRewriter(lexical, checkpoint=checkpoint, budget=Budget(seconds=None)).decide(ASKED)
    RLQueryRewriter(lexical, checkpoint=checkpoint).decide(ASKED)
    assert seen[0] is threading.current_thread() is not seen[1]


@pytest.mark.parametrize(
    ("searches", "possible"),
    [
        (0, set()),
        (1, {"keep"}),
        (2, {"keep", "keywords", "move_dense_1@0.4", "expand_3x5", "move_bm25_1@0.4"}),
        (3, {"keep", "keywords", "fuse_bm25@0.4", "move_bm25_1@0.4"}),
    ],
)
def test_searches_beyond_the_budget_are_masked_before_sampling(
    tmp_path: Path, searches: int, possible: set[str]
) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    checkpoint = fixed_checkpoint(retriever, "keywords")
    told: list[Served] = []
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=checkpoint,
        budget=Budget(searches=searches, seconds=None),
        listeners=[told.append],
    )
    for seed in range(30):
        decision = rewriter.retrieve(ASKED, explore=True, seed=seed, k=3).decision
        if searches == 0:  # BM25 is one search more than the first ranking
            assert decision.reason == "fallback:search_budget"
            continue
        assert decision.propensity == decision.probabilities[decision.action] > 0
        assert sum(decision.probabilities.values()) == pytest.approx(1.0)
    assert max(served.searches for served in told) <= searches
    if searches:
        assert possible <= set(decision.probabilities)
        assert not any("fuse" in name for name in decision.probabilities) or searches > 2


def test_a_kept_query_served_from_its_first_ranking_is_no_extra_search() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    told: list[Served] = []
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        budget=Budget(searches=0),
        listeners=[told.append],
    )
    found = rewriter.retrieve(ASKED, k=4)
    assert set(found.decision.probabilities) == {"keep"}
    assert found.decision.reason == "policy"
    assert [served.searches for served in told] == [0]


def test_a_search_that_an_action_hid_is_refused(lexical: Bm25Retriever) -> None:
    def fused(evidence: Evidence) -> Rewrite:
        return Rewrite(("refund",), lexical_weight=0.5)

    checkpoint = faulty_checkpoint(lexical, fused)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=Budget(searches=1))
    assert_kept(rewriter, lexical, "fallback:search_budget")
    assert (
        RLQueryRewriter(checkpoint=checkpoint).decide(ASKED, retriever=lexical).action == "faulty"
    )


def test_llm_calls_beyond_the_budget(lexical: Bm25Retriever) -> None:
    asked: list[str] = []

    def llm(prompt: str) -> str:
        asked.append(prompt)
        return "refund card"

    space = ActionSpace((Keep(), LlmRewrite(llm)))
    checkpoint = fixed_checkpoint(lexical, "llm:rephrase", actions=space)
    none = RLQueryRewriter(lexical, checkpoint=checkpoint, budget=Budget(llm_calls=0))
    decision = none.decide(ASKED, explore=True)
    assert (decision.probabilities, decision.propensity, asked) == ({"keep": 1.0}, 1.0, [])
    told: list[Served] = []
    one = RLQueryRewriter(
        lexical, checkpoint=checkpoint, budget=Budget(llm_calls=1), listeners=[told.append]
    )
    assert one.decide(ASKED).action == "llm:rephrase"
    assert (told[0].llm_calls, len(asked)) == (1, 1)


def test_llm_calls_that_an_action_hid_are_refused(lexical: Bm25Retriever) -> None:
    @dataclass(frozen=True)
    class Hidden:
        name: str = "hidden"
        strength: float = 1.0
        needs: Needs = Needs.NOTHING

        def rewrite(self, evidence: Evidence) -> Rewrite:
            return Rewrite(("refund",), llm_calls=3)

    space = ActionSpace((Keep(), Hidden()))
    checkpoint = fixed_checkpoint(lexical, "hidden", actions=space)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=Budget(llm_calls=2))
    assert_kept(rewriter, lexical, "fallback:llm_budget")


def test_the_circuit_opens_and_a_probe_closes_it(lexical: Bm25Retriever) -> None:
    broken, asked = [True], []

    def make(evidence: Evidence) -> Rewrite:
        asked.append(evidence)
        return _raise(evidence) if broken[0] else Rewrite(("refund",))

    rewriter = RLQueryRewriter(
        lexical,
        checkpoint=faulty_checkpoint(lexical, make),
        breaker=BreakerConfig(failures=3, seconds=0.2),
    )
    for _ in range(3):
        assert_kept(rewriter, lexical, "fallback:action_error")
    for _ in range(5):
        assert_kept(rewriter, lexical, "fallback:circuit_open")
    assert len(asked) == 3
    threading.Event().wait(0.25)
    assert_kept(rewriter, lexical, "fallback:action_error")  # the probe
    assert_kept(rewriter, lexical, "fallback:circuit_open")
    broken[0] = False
    threading.Event().wait(0.25)
    assert rewriter.retrieve(ASKED, k=4).decision.action == "faulty"
    assert rewriter.retrieve(ASKED, k=4).decision.action == "faulty"


def test_a_kill_switch(lexical: Bm25Retriever) -> None:
    on = [True]
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), kill_switch=lambda: on[0]
    )
    assert_kept(rewriter, lexical, "fallback:kill_switch")
    on[0] = False
    assert rewriter.decide(ASKED).action == "keywords"
    on.clear()  # a switch that can't be read counts as on
    assert_kept(rewriter, lexical, "fallback:kill_switch")


@pytest.mark.parametrize("damage", ["missing", "corrupt", "mismatched"])
def test_a_policy_that_cannot_be_loaded(
    lexical: Bm25Retriever, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "policy"
    sound = RLQueryRewriter(lexical, checkpoint=fixed_checkpoint(lexical, "keywords"))
    if damage != "missing":
        sound.save(folder)
    if damage == "corrupt":
        (folder / "policy.safetensors").write_bytes(b"nothing")
    if damage == "mismatched":
        manifest = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(manifest.replace("Keywords", "Unheard"))
    with pytest.raises(CheckpointError):
        RLQueryRewriter.load(folder, retriever=lexical)
    with caplog.at_level(logging.WARNING):
        rewriter = RLQueryRewriter.load(folder, retriever=lexical, on_error="keep")
        for _ in range(3):
            assert_kept(rewriter, lexical, "fallback:no_policy")
    assert len(caplog.records) == 1
    with pytest.raises(CheckpointError):
        rewriter.reload()
    assert_kept(rewriter, lexical, "fallback:no_policy")
    sound.save(folder if damage == "missing" else tmp_path / "again")
    if damage != "missing":
        for file in (tmp_path / "again").iterdir():
            file.replace(folder / file.name)
    rewriter.reload()
    assert rewriter.decide(ASKED).action == "keywords"
    assert rewriter.actions == sound.actions


def test_loading_takes_one_of_two_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"raise" or "keep", got \'ignore\''):
        RLQueryRewriter.load(tmp_path, on_error="ignore")  # type: ignore[arg-type]  # the test
    with pytest.raises(InputError, match="wasn't loaded"):
        RLQueryRewriter().reload()


def test_a_log_that_cannot_be_written_says_so(lexical: Bm25Retriever) -> None:
    checkpoint = fixed_checkpoint(lexical, "keywords")
    log = DecisionLog("/dev/full")
    rewriter = RLQueryRewriter(
        lexical, checkpoint=checkpoint, log=log, breaker=BreakerConfig(failures=2, seconds=60.0)
    )
    for _ in range(2):
        found = rewriter.retrieve(ASKED, k=4)
        assert found.decision.action == "keywords"
        assert not rewriter.record(found.decision, found.ranking)
    assert_kept(rewriter, lexical, "fallback:log_write")  # its breaker is open
    assert rewriter.counters["events"]["log_error"] == 2
    strict = RLQueryRewriter(lexical, checkpoint=checkpoint, log=log, strict=True)
    with pytest.raises(ServingError, match="log_write") as caught:
        strict.record(found.decision, found.ranking)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_late_record_is_never_written(lexical: Bm25Retriever, tmp_path: Path) -> None:
    """Whoever waits is told that it isn't on file, and then it never is."""
    path = tmp_path / "log.jsonl"
    log = DecisionLog(path)
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), log=log, budget=SHORT
    )
    found = rewriter.retrieve(ASKED, k=4)
    with log._lock:  # as a write holds it that the disk keeps waiting
        assert not rewriter.record(found.decision, found.ranking)
    assert rewriter.record(replace(found.decision, id="second"), found.ranking)
    assert [record["id"] for record in read_records(path)] == ["second"]


def test_listeners_are_told_and_can_do_no_harm(
    lexical: Bm25Retriever, stall: Stall, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Served] = []

    def broken(served: Served) -> None:
        raise ValueError(served.decision.query.text)

    checkpoint = fixed_checkpoint(lexical, "keywords")
    rewriter = RLQueryRewriter(lexical, checkpoint=checkpoint, listeners=[broken, told.append])
    with caplog.at_level(logging.WARNING):
        found = rewriter.retrieve(ASKED, k=4)
        rewriter.decide(ASKED)
    first, second = told
    assert (first.decision, first.n_documents, first.adapter) == (
        found.decision,
        len(found.ranking),
        "python",
    )
    assert (first.searches, first.llm_calls) == (1, 0)
    assert first.seconds > 0
    assert second.n_documents is None
    assert rewriter.counters["events"] == {"listener_error": 2}
    assert "a listener failed: ValueError" in caplog.text
    assert ASKED not in caplog.text
    late = RLQueryRewriter(lexical, checkpoint=checkpoint, listeners=[stall], budget=SHORT)
    assert late.decide(ASKED).action == "keywords"
    assert late.counters["events"] == {"listener_late": 1}


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


def test_queries_stay_out_of_warnings(
    lexical: Bm25Retriever, caplog: pytest.LogCaptureFixture
) -> None:
    rewriter = RLQueryRewriter(lexical, checkpoint=faulty_checkpoint(lexical, _raise))
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            rewriter.retrieve(ASKED, k=2)
    assert [record.getMessage() for record in caplog.records] == [
        "query kept (fallback:action_error): ZeroDivisionError"
    ]


def test_the_untrained_rewriter_needs_no_thread(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(lexical)
    assert rewriter.retrieve(ASKED, k=4).decision.reason == "untrained"
    assert rewriter.plan(Query(ASKED)).decision.reason == "untrained"
    assert rewriter._guard.workers.threads == 0


def test_the_environment_switches_off_without_a_registry(
    lexical: Bm25Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = RLQueryRewriter(lexical, checkpoint=fixed_checkpoint(lexical, "keywords"))
    assert rewriter.decide("refund of the card").reason == "policy"
    monkeypatch.setenv("RL_REWRITER_OFF", "1")
    assert_kept(rewriter, lexical, "fallback:kill_switch")
    monkeypatch.setenv("RL_REWRITER_OFF", "0")
    assert rewriter.decide("refund of the card").reason == "policy"
