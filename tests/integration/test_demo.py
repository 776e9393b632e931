"""The main job: the demo as a command, and the same by hand over a real Chroma collection."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.workbench import load_collection
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.report import FitReport
from rl_rewriter.types import Query
from tests.commands import exit_code
from tests.forms import DEMO, assert_has_form
from tests.support import TokenEmbedder, chroma_collection

Record = dict[str, Any]
N_DOCUMENTS = 40


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "run"


@pytest.fixture(scope="module")
def printed(out: Path) -> Record:
    """What ``rl-rewriter demo --data demo-zh --json`` prints."""
    with redirect_stdout(io.StringIO()) as stream:
        assert exit_code("demo", "--data", "demo-zh", "--out", out, "--json") == 0
    record: Record = json.loads(stream.getvalue())
    return record


def log_rows(printed: Record) -> list[Record]:
    log = Path(printed["artifacts"]["log"])
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_the_record_has_the_published_form(printed: Record) -> None:
    assert_has_form(printed, DEMO)
    assert (printed["name"], printed["retriever"], printed["protocol"]) == (
        "demo-zh",
        "tfidf",
        "split",
    )
    assert printed["seconds"]["train"] > 0


def test_the_best_single_action_stands_where_nothing_else_is_clearly_better(
    printed: Record,
) -> None:
    """Few Chinese queries, searched by TF-IDF: what gains, and hurts fewer than it helps."""
    single = printed["best_fixed"]
    assert set(printed["policy"]["action_share"]) <= {"keep", single["action"]}
    assert printed["policy"]["value"] == pytest.approx(single["value"])
    assert printed["policy"]["value"] > printed["actions"]["keep"]
    assert printed["policy"]["hurt_share"] < printed["policy"]["helped_share"]


def test_everything_that_is_named_is_there(printed: Record, out: Path) -> None:
    assert all(Path(path).exists() for path in printed["artifacts"].values())
    [collection] = json.loads((out / "results.json").read_text("utf-8"))["collections"]
    assert {**collection, "artifacts": printed["artifacts"]} == printed
    updates = (out / "training" / "metrics.jsonl").read_text().splitlines()
    assert len(updates) == ReinforceConfig().updates // ReinforceConfig().evaluate_every


def test_training_queries_were_served_and_logged_with_their_outcomes(printed: Record) -> None:
    rows = log_rows(printed)
    decisions = [row for row in rows if row["type"] == "decision"]
    outcomes = {row["decision_id"]: row for row in rows if row["type"] == "feedback"}
    judged = load_collection("demo-zh")
    assert [row["query"] for row in decisions] == [query.text for query in judged.train]
    assert {row["id"] for row in decisions} == set(outcomes)
    assert {row["kind"] for row in outcomes.values()} == {"ndcg@10"}
    assert {row["reason"] for row in decisions} == {"explored"}
    for row in decisions:
        assert row["propensity"] == row["probabilities"][row["action"]] > 0
        assert sum(row["probabilities"].values()) == pytest.approx(1.0)


def test_the_saved_policy_is_the_one_that_was_logged(printed: Record) -> None:
    rewriter = RLQueryRewriter.load(printed["artifacts"]["policy"])
    first = log_rows(printed)[0]
    assert rewriter.policy_version == first["policy_version"]
    assert rewriter.checkpoint is not None
    assert rewriter.checkpoint.features.fingerprint == first["state_schema"]


# The same by hand over Chroma, with vector actions


@dataclass(frozen=True, eq=False)
class OverChroma:
    """A rewriter trained over a real collection, and outcomes on held-out queries."""

    collection: Any
    judged: JudgedCollection
    rewriter: RLQueryRewriter
    report: FitReport
    test: list[Query]
    table: RewardTable


def part_of(whole: JudgedCollection, n_documents: int) -> JudgedCollection:
    """The first documents, and the queries that they answer in full."""
    documents = dict(list(whole.documents.items())[:n_documents])
    queries = tuple(q for q in whole.queries if whole.qrels[q.id].keys() <= documents.keys())
    return JudgedCollection(
        whole.name, documents, queries, whole.qrels, whole.test_ids, whole.groups
    )


@pytest.fixture(scope="module")
def over_chroma() -> OverChroma:
    judged = part_of(load_collection("demo"), N_DOCUMENTS)
    embedder = TokenEmbedder(64)
    collection = chroma_collection(judged.documents, embedder)
    rewriter = RLQueryRewriter.from_chroma(collection, embedder)
    report = rewriter.fit(
        judged.train,
        judged.qrels,
        config=FitConfig(reinforce=ReinforceConfig(updates=300), ladder=None),
        groups=[judged.group_of(query) for query in judged.train],
    )
    checkpoint, retriever = rewriter.checkpoint, rewriter.retriever
    assert checkpoint is not None
    assert retriever is not None
    outcomes = carry_out(
        judged.test,
        retriever,
        checkpoint.statistics,
        checkpoint.actions,
        checkpoint.features,
        depth=10,
    )
    table = reward_table(outcomes, judged.qrels, checkpoint.features, RewardConfig())
    return OverChroma(collection, judged, rewriter, report, list(judged.test), table)


def test_keep_is_what_chroma_itself_finds(over_chroma: OverChroma) -> None:
    embedder, metric = TokenEmbedder(64), Metric("ndcg", 10)
    for row, query in enumerate(over_chroma.test):
        found = over_chroma.collection.query(
            query_embeddings=[embedder.vector(query.text)], n_results=10
        )
        value = metric(found["ids"][0], over_chroma.judged.qrels[query.id])
        assert over_chroma.table.values[row, 0] == pytest.approx(value)


def test_serving_gives_what_the_table_says(over_chroma: OverChroma) -> None:
    metric = Metric("ndcg", 10)
    taken = set()
    for row, query in enumerate(over_chroma.test):
        found = over_chroma.rewriter.retrieve(query, k=10)
        column = over_chroma.table.action_names.index(found.decision.action)
        value = metric(found.ranking.ids, over_chroma.judged.qrels[query.id])
        assert over_chroma.table.values[row, column] == pytest.approx(value)
        taken.add(found.decision.action)
    assert len(taken) > 1


def test_training_over_chroma_gains_on_held_out_queries(over_chroma: OverChroma) -> None:
    checkpoint, table = over_chroma.rewriter.checkpoint, over_chroma.table
    assert checkpoint is not None
    chosen = checkpoint.policy.distribution(table.states, table.mask).greedy()
    reached = table.values[np.arange(len(table)), chosen]
    assert reached.mean() > table.values[:, 0].mean() + 0.02
    assert over_chroma.report.validation["policy"] > over_chroma.report.validation["keep"]


def test_a_policy_saved_and_loaded_serves_the_same(over_chroma: OverChroma, tmp_path: Path) -> None:
    over_chroma.rewriter.save(tmp_path / "policy")
    loaded = RLQueryRewriter.load(tmp_path / "policy", retriever=over_chroma.rewriter.retriever)
    assert loaded.policy_version == over_chroma.rewriter.policy_version
    for query in over_chroma.test[:20]:
        before, after = (r.retrieve(query, k=5) for r in (over_chroma.rewriter, loaded))
        assert after.decision.action == before.decision.action
        assert after.ranking.ids == before.ranking.ids
