"""``results.json``, the run file and the per-query values, as others read them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from pyarrow import parquet

from rl_rewriter.benchmark.results import collection_record, write_run, write_text
from tests.forms import COLLECTION, assert_has_form
from tests.unit.benchmark.conftest import Trained


@pytest.fixture(scope="module")
def run_folder(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "made" / "here"
    record = collection_record(trained.evaluation, {"embed": 1.23456})
    write_run(folder, trained.evaluation, trained.checkpoint, record, seed=5)
    return folder


@pytest.fixture(scope="module")
def results(run_folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_folder / "results.json").read_text("utf-8"))
    return found


def test_results_have_the_published_form(results: dict[str, Any]) -> None:
    assert_has_form(results, {"schema": int, "seed": int, "collections": [COLLECTION]})
    assert (results["schema"], results["seed"]) == (1, 5)


def test_figures_are_those_of_the_evaluation(trained: Trained, results: dict[str, Any]) -> None:
    [found] = results["collections"]
    held_out = trained.evaluation.held_out
    assert found["name"] == "shop"
    assert (found["n_documents"], found["n_queries"]) == (24, 20)
    assert (found["retriever"], found["embedder"]) == ("tfidf", "tfidf")
    assert (found["metric"], found["protocol"]) == ("ndcg@10", "split")
    assert found["actions"]["keep"] == pytest.approx(held_out.keep.mean())
    assert found["policy"]["value"] == held_out.policy.mean()
    assert found["best_fixed"]["value"] == pytest.approx(
        found["actions"][found["best_fixed"]["action"]]
    )
    assert found["oracle"] >= max(found["policy"]["value"], *found["actions"].values())
    assert found["seconds"]["embed"] == 1.235
    assert 0 < found["seconds"]["decide_p50_ms"] <= found["seconds"]["decide_p95_ms"]
    shares = found["policy"]["action_share"]
    assert sum(shares.values()) == pytest.approx(1.0)
    # Evidence is a first ranking and BM25's; what isn't kept is searched again, fused ones twice.
    rewrites = zip(trained.evaluation.rewrites, trained.evaluation.queries, strict=True)
    again = [
        0 if rewrite.is_the_query(query) else 1 + (rewrite.lexical_weight > 0)
        for rewrite, query in rewrites
    ]
    assert found["policy"]["searches_per_query"] == pytest.approx(2.0 + np.mean(again))
    assert found["tests"]["policy_vs_keep"]["delta"] == pytest.approx(
        found["policy"]["value"] - found["actions"]["keep"]
    )


def test_the_policy_under_test_does_something(trained: Trained) -> None:
    """Else the checks of this file would pass for keep alone."""
    assert len(set(trained.evaluation.held_out.chosen.tolist())) > 1
    assert (trained.evaluation.held_out.policy != trained.evaluation.held_out.keep).any()


def test_the_run_file_gives_the_policys_metric(trained: Trained, run_folder: Path) -> None:
    path = str(run_folder / "policy.run")
    run = list(ir_measures.read_trec_run(path))  # type: ignore[no-untyped-call]
    qrels = [
        ir_measures.Qrel(query.id, document, int(grade))
        for query in trained.evaluation.queries
        for document, grade in trained.bench.qrels[query.id].items()
    ]
    measured = {
        found.query_id: found.value
        for found in ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)
    }
    expected = {
        query.id: value
        for query, value in zip(
            trained.evaluation.queries, trained.evaluation.held_out.policy, strict=True
        )
    }
    assert measured == pytest.approx(expected, abs=1e-6)
    [mean] = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run).values()
    assert mean == pytest.approx(trained.evaluation.held_out.policy.mean(), abs=1e-6)


def test_the_run_file_has_six_columns_and_ranks(trained: Trained, run_folder: Path) -> None:
    lines = [line.split() for line in (run_folder / "policy.run").read_text().splitlines()]
    assert {len(line) for line in lines} == {6}
    assert {line[1] for line in lines} == {"Q0"}
    assert {line[5] for line in lines} == {"mlp"}
    for query in trained.evaluation.queries:
        own = [line for line in lines if line[0] == query.id]
        assert [int(line[3]) for line in own] == list(range(1, len(own) + 1))
        scores = [float(line[4]) for line in own]
        assert all(above > below for above, below in pairwise(scores))


def test_rankings_are_those_that_serving_gives(trained: Trained) -> None:
    from rl_rewriter.rewriter import RLQueryRewriter

    rewriter = RLQueryRewriter(trained.bench.retriever, checkpoint=trained.checkpoint)
    rankings = trained.bench.retriever.search(trained.evaluation.rewrites, k=100)
    for query, ranking in zip(trained.evaluation.queries, rankings, strict=True):
        assert rewriter.retrieve(query, k=10).ranking.ids == ranking.ids[:10]


def test_values_of_each_query(trained: Trained, run_folder: Path) -> None:
    table = parquet.read_table(run_folder / "per_query.parquet")
    assert table.column_names == [
        "query_id",
        "query",
        "history_len",
        "group",
        "kind",
        "action",
        "keep",
        "best_fixed",
        "policy",
        "oracle",
    ]
    rows = table.to_pylist()
    held_out, queries = trained.evaluation.held_out, trained.evaluation.queries
    assert [row["query_id"] for row in rows] == [query.id for query in queries]
    assert [row["query"] for row in rows] == [query.text for query in queries]
    assert (
        {row["group"] for row in rows}
        == {"refund", "abroad", "card", "repair"}
        == {query.id.partition(".")[0] for query in queries}
    )
    assert {row["kind"] for row in rows} == {f"form {form}" for form in range(5)}
    for name in ("keep", "best_fixed", "policy", "oracle"):
        np.testing.assert_array_equal([row[name] for row in rows], getattr(held_out, name))
    names = trained.evaluation.table.action_names
    assert [row["action"] for row in rows] == [names[action] for action in held_out.chosen]


def test_nothing_but_the_three_files_is_left(run_folder: Path) -> None:
    assert {path.name for path in run_folder.iterdir()} == {
        "results.json",
        "policy.run",
        "per_query.parquet",
    }


def test_writing_again_replaces(trained: Trained, run_folder: Path) -> None:
    before = (run_folder / "policy.run").read_text()
    record = collection_record(trained.evaluation)
    write_run(run_folder, trained.evaluation, trained.checkpoint, record, seed=5)
    assert (run_folder / "policy.run").read_text() == before
    assert len(list(run_folder.iterdir())) == 3


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_text(path, "whole")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half \ud800")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]
