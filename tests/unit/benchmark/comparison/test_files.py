"""A collection's folder, as others read it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.comparison.files import free_name, write_collection, write_run
from rl_rewriter.benchmark.report.run_folder import read_run

COLUMNS = [
    *("query_id", "query", "history_len", "group", "kind", "fold", "action"),
    *("action_probability", "keep", "best_fixed", "policy", "oracle", "random"),
    *("predicted_gain", "text", "searches", "embedded", "llm_calls"),
]


def test_the_folder_holds_what_is_published(compared: Compared, written: Path) -> None:
    assert {path.relative_to(written).as_posix() for path in written.rglob("*")} == {
        "record.json",
        "per_query.parquet",
        "training.jsonl",
        "examples.json",
        "runs",
        *(f"runs/{arm}.run" for arm in ("keep", "best_fixed", "policy", "oracle")),
    }


def test_values_of_each_query(compared: Compared, written: Path) -> None:
    table = parquet.read_table(written / "per_query.parquet")
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert [row["query_id"] for row in rows] == [query.id for query in compared.queries]
    assert [row["query"] for row in rows] == [query.text for query in compared.queries]
    assert [row["group"] for row in rows] == compared.bench.groups_of(compared.queries)
    assert [row["kind"] for row in rows] == compared.kinds
    assert [row["fold"] for row in rows] == compared.fold.tolist()
    for arm in ("keep", "best_fixed", "policy", "oracle", "random"):
        np.testing.assert_array_equal([row[arm] for row in rows], compared.held_out.of(arm))
    names = compared.actions.names
    assert [row["action"] for row in rows] == [names[action] for action in compared.chosen]
    assert [row["text"] for row in rows] == [rewrite.text for rewrite in compared.rewrites]
    kept = [row for row in rows if row["action"] == "keep"]
    assert {row["searches"] for row in kept} == {2}
    assert {row["text"] == row["query"] for row in kept} == {True}
    assert {row["searches"] for row in rows if row["action"].startswith("fuse")} <= {4}


def test_examples_are_the_extremes(compared: Compared, written: Path) -> None:
    found = json.loads((written / "examples.json").read_text("utf-8"))
    gains = compared.held_out.by_seed("policy")[0] - compared.held_out.of("keep")
    assert 0 < len(found["helped"]) <= 8
    assert found["helped"][0]["policy"] - found["helped"][0]["keep"] == pytest.approx(gains.max())
    if found["hurt"]:
        worst = found["hurt"][0]
        assert worst["policy"] - worst["keep"] == pytest.approx(gains.min())
    for example in [*found["helped"], *found["hurt"]]:
        row = compared.outcomes.query_ids.index(example["query_id"])
        outcomes = compared.outcomes
        for side, action in (("keep", 0), ("policy", compared.chosen[row])):
            first = [outcomes.documents[i] for i in outcomes.ranked[row, action, :3]]
            assert [document["id"] for document in example[f"{side}_documents"]] == first
        grades = compared.bench.qrels[example["query_id"]]
        for document in example["policy_documents"]:
            assert document["grade"] == grades.get(document["id"])
            assert 0 < len(document["text"]) <= 300
        assert example["texts"] == list(compared.rewrites[row].texts)
        assert example["weights"] == list(compared.rewrites[row].weights)
        assert example["lexical_weight"] == compared.rewrites[row].lexical_weight
        assert example["counts_alike"] is False


def test_the_report_reads_it(compared: Compared, tmp_path: Path) -> None:
    record = write_run(tmp_path, compared, collection_record(compared), seed=4)
    run = read_run(tmp_path)
    assert run.seed == 4
    [found] = run.collections
    assert found.record.verdict == record["verdict"]
    assert found.record.values["policy"] == record["policy"]["value"]
    assert found.per_query is not None
    assert found.per_query.n == 60
    assert len(found.curves) == 6
    assert found.examples is not None
    assert found.examples.helped
    assert len(found.record.calibration) == len(record["calibration"])


def test_files_of_an_earlier_policy_are_removed(compared: Compared, tmp_path: Path) -> None:
    write_collection(tmp_path, compared, {})
    (tmp_path / "key.json").write_text("{}")
    choices = {arm: c for arm, c in compared.held_out.choices.items() if arm != "policy"}
    held_out = dataclasses.replace(compared.held_out, choices=choices)
    write_collection(tmp_path, dataclasses.replace(compared, held_out=held_out, policies=None), {})
    left = {path.name for path in tmp_path.rglob("*")}
    assert not {"policy.run", "training.jsonl", "key.json"} & left
    table = parquet.read_table(tmp_path / "per_query.parquet")
    assert "policy" not in table.column_names
    assert set(table["action"].to_pylist()) == {"keep"}


def test_lone_surrogates_can_be_written(compared: Compared, tmp_path: Path) -> None:
    queries = tuple(
        dataclasses.replace(query, text=f"{query.text} \ud800") for query in compared.queries
    )
    outcomes = dataclasses.replace(compared.outcomes, queries=queries)
    write_collection(tmp_path, dataclasses.replace(compared, outcomes=outcomes), {"x": "\udfff"})
    assert json.loads((tmp_path / "record.json").read_text("utf-8")) == {"x": "\udfff"}
    rows = parquet.read_table(tmp_path / "per_query.parquet")["query"].to_pylist()
    assert rows[0].endswith(" ?")


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("scifact.chroma", (), "scifact.chroma"),
        ("scifact.chroma", ("scifact.chroma",), "scifact.chroma-2"),
        ("a", ("a", "a-2"), "a-3"),
        ("客服/faq.bm25", (), "faq.bm25"),
        ("../..", (), "collection"),
        ("客服", (), "collection"),
        ("x" * 300, (), "x" * 100),
    ],
)
def test_names_of_folders(name: str, taken: tuple[str, ...], expected: str) -> None:
    assert free_name(name, set(taken)) == expected
