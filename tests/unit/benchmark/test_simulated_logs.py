"""A simulated log is one that a running chain would have written, and its truth is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.benchmark.simulated_logs import LoggingPolicy, simulate_logs
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.policies.checkpoint import save_checkpoint
from rl_rewriter.types import LoggedInteraction
from tests.unit.benchmark.conftest import Trained


@pytest.fixture(scope="module")
def bench(shop_folder: Path) -> Workbench:
    return open_workbench(str(shop_folder), StoreConfig(embedder="tfidf"))


def simulated(bench: Workbench, out: Path, policy: str, n: int = 300) -> list[LoggedInteraction]:
    assert simulate_logs(bench, LoggingPolicy.parse(policy, bench), out, n=n, seed=3) == n
    return read_interactions(out)


def test_feedback_is_the_metric_of_the_logged_documents(bench: Workbench, tmp_path: Path) -> None:
    texts = {query.text: query.id for query in bench.train}
    for found in simulated(bench, tmp_path / "log.jsonl", "uniform"):
        ids = [document["id"] for document in found.decision["documents"]]
        query_id = texts[found.decision["query"]]
        [outcome] = found.feedback
        assert outcome.value == pytest.approx(bench.reward.metric(ids, bench.qrels[query_id]))
        assert outcome.kind == "ndcg@10"
        assert found.decision["tags"] == {"session_id": query_id}


def test_documents_are_what_a_search_for_the_logged_text_finds(
    bench: Workbench, tmp_path: Path
) -> None:
    from rl_rewriter.types import Rewrite

    plain = [
        found.decision
        for found in simulated(bench, tmp_path / "log.jsonl", "uniform")
        if found.decision["action"] in ("keep", "keywords", "expand_3x5")
    ]
    assert {decision["action"] for decision in plain} >= {"keep", "keywords"}
    for decision in plain[:40]:
        [ranking] = bench.retriever.search([Rewrite(tuple(decision["texts"]))], k=10)
        assert [document["id"] for document in decision["documents"]] == list(ranking.ids)


@pytest.mark.parametrize(("policy", "keep"), [("uniform", None), ("epsilon:0.3", 0.7)])
def test_actions_follow_their_propensities(
    bench: Workbench, tmp_path: Path, policy: str, keep: float | None
) -> None:
    found = simulated(bench, tmp_path / "log.jsonl", policy, n=1500)
    counts = Counter(each.decision["action"] for each in found)
    expected = sum(each.decision["probabilities"]["keep"] for each in found)
    assert abs(counts["keep"] - expected) < 4 * np.sqrt(expected) + 1
    if keep is not None:
        assert expected / len(found) > keep


def test_held_out_queries_are_never_asked(bench: Workbench, tmp_path: Path) -> None:
    asked = {each.decision["query"] for each in simulated(bench, tmp_path / "l", "uniform")}
    assert asked <= {query.text for query in bench.train}
    assert not asked & {query.text for query in bench.test}


def test_a_saved_policy_logs_its_own_distribution(trained: Trained, tmp_path: Path) -> None:
    save_checkpoint(trained.checkpoint, tmp_path / "policy")
    found = simulated(trained.bench, tmp_path / "log.jsonl", str(tmp_path / "policy"))
    assert {each.decision["policy_version"] for each in found} == {trained.checkpoint.version}
    assert {each.decision["state_schema"] for each in found} == {
        trained.checkpoint.features.fingerprint
    }


def test_the_log_can_be_learned_from(bench: Workbench, tmp_path: Path) -> None:
    simulated(bench, tmp_path / "log.jsonl", "uniform")
    bandit, report = dataset(tmp_path / "log.jsonl")
    assert len(bandit) == report.decisions == 300
    assert bandit.propensities == pytest.approx(bandit.probabilities[range(300), bandit.actions])
    assert set(bandit.groups) <= {query.id for query in bench.train}


def test_equal_seeds_write_equal_logs(bench: Workbench, tmp_path: Path) -> None:
    simulated(bench, tmp_path / "a", "uniform")
    simulated(bench, tmp_path / "b", "uniform")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_other_logs_have_decisions_of_their_own(trained: Trained, tmp_path: Path) -> None:
    """Judges tell by these names what a policy has learned from."""
    save_checkpoint(trained.checkpoint, tmp_path / "policy")
    policies = ["uniform", "epsilon:0.3", str(tmp_path / "policy")]
    logs = [
        simulated(trained.bench, tmp_path / f"{number}", policy)
        for number, policy in enumerate(policies)
    ]
    logs.append(simulated(trained.bench, tmp_path / "longer", "uniform", n=301))
    names = [{each.decision["id"] for each in log} for log in logs]
    assert len(set().union(*names)) == sum(map(len, names))


def test_what_cannot_be_simulated_is_refused(bench: Workbench, tmp_path: Path) -> None:
    policy = LoggingPolicy.parse("uniform", bench)
    with pytest.raises(InputError, match="at least one decision"):
        simulate_logs(bench, policy, tmp_path / "log", n=0)
    (tmp_path / "log").write_text("")
    with pytest.raises(InputError, match="exists"):
        simulate_logs(bench, policy, tmp_path / "log", n=1)
    with pytest.raises(InputError, match=r'like "epsilon:0\.1"'):
        LoggingPolicy.parse("epsilon:much", bench)
    with pytest.raises(InputError, match="epsilon must lie"):
        LoggingPolicy.parse("epsilon:2", bench)
    with pytest.raises(CheckpointError, match="does not exist"):
        LoggingPolicy.parse(str(tmp_path / "nothing"), bench)
