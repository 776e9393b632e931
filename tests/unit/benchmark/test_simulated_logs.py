"""A simulated log is one that a running chain would have written, and its truth is known."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.actions.blend_logits import logits_of
from rl_rewriter.actions.views import look
from rl_rewriter.benchmark.logging_policy import LoggingPolicy
from rl_rewriter.benchmark.simulated_logs import simulate_logs
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.policies.checkpoint import load_checkpoint, save_checkpoint
from rl_rewriter.policies.gaussian import GaussianBlend
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.types import LoggedInteraction, Rewrite
from tests.support import blend_checkpoint
from tests.unit.benchmark.conftest import Trained


@pytest.fixture(scope="module")
def bench(shop_folder: Path) -> Workbench:
    return open_workbench(str(shop_folder), StoreConfig(embedder="tfidf"))


def simulated(
    bench: Workbench, out: Path, policy: str, n: int = 300, sigma: float = 0.0
) -> list[LoggedInteraction]:
    logging = LoggingPolicy.parse(policy, bench, sigma=sigma)
    assert simulate_logs(bench, logging, out, n=n, seed=3) == n
    return read_interactions(out)


@pytest.fixture
def blending(bench: Workbench, tmp_path: Path) -> str:
    """Folder of a policy that takes a blend."""
    save_checkpoint(blend_checkpoint(bench.retriever), tmp_path / "blending")
    return str(tmp_path / "blending")


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


def test_drawn_weights_are_logged_with_their_density_and_what_they_find(
    bench: Workbench, blending: str, tmp_path: Path
) -> None:
    checkpoint = load_checkpoint(Path(blending))
    [blend] = checkpoint.blends
    queries = {query.text: query for query in bench.train}
    logged = simulated(bench, tmp_path / "log.jsonl", blending, n=60, sigma=0.5)
    for each in logged:
        assert each.decision["sigma"] == 0.5
        assert each.decision["blends"] == checkpoint.blend_versions
        assert ("weights" in each.decision) is (each.decision["action"] == "blend")
    found = [each for each in logged if each.decision["action"] == "blend"]
    assert len({tuple(each.decision["weights"].values()) for each in found}) == len(found) > 30
    for each in found:
        told, query = each.decision, queries[each.decision["query"]]
        [evidence] = gather([query], bench.retriever, checkpoint.statistics, blend.needs)
        seen = look(evidence, blend.views)
        states = np.asarray([told["state"]], dtype=np.float32)
        drawn_from = GaussianBlend(blend.head, 0.5).distribution(states, seen.present[None])
        weights = np.asarray([list(told["weights"].values())])
        density = float(drawn_from.log_prob(logits_of(weights))[0])
        assert told["log_density"] == pytest.approx(density, abs=1e-4)
        rewrite = blend.rewrite_by(evidence, told["weights"], seen)
        [ranking] = bench.retriever.search([rewrite or Rewrite.keep(query)], k=10)
        assert [document["id"] for document in told["documents"]] == list(ranking.ids)
        value = bench.reward.metric(ranking.ids, bench.qrels[query.id])
        assert each.feedback[0].value == pytest.approx(value)


def test_drawing_weights_changes_no_query_and_no_action(
    bench: Workbench, blending: str, tmp_path: Path
) -> None:
    served = simulated(bench, tmp_path / "served", blending, n=60)
    drawn = simulated(bench, tmp_path / "drawn", blending, n=60, sigma=0.5)
    assert not {"sigma", "weights", "log_density"} & served[0].decision.keys()
    same = ("query", "action", "propensity", "probabilities", "state", "time")
    for one, other in zip(served, drawn, strict=True):
        assert [one.decision[key] for key in same] == [other.decision[key] for key in same]
        assert one.decision["id"] != other.decision["id"]
    simulated(bench, tmp_path / "again", blending, n=60, sigma=0.5)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "drawn").read_bytes()


def test_only_weights_of_a_blend_can_be_drawn(
    bench: Workbench, blending: str, trained: Trained, tmp_path: Path
) -> None:
    save_checkpoint(trained.checkpoint, tmp_path / "policy")
    for policy in ("uniform", "epsilon:0.1", str(tmp_path / "policy")):
        said = f"sigma 0.3 is for the weights of a learned blend, and {policy!r} has none: name"
        with pytest.raises(InputError, match=re.escape(said)):
            LoggingPolicy.parse(policy, bench, sigma=0.3)
    with pytest.raises(InputError, match=r"sigma must be 0 or lie in .*, got -1"):
        LoggingPolicy.parse(blending, bench, sigma=-1.0)


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
