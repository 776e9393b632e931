"""Whole runs: resumed, recomputed where something changed, and left alone where nothing did."""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.comparison.benchmark import run_benchmark
from rl_rewriter.benchmark.comparison.plan import BenchmarkRequest
from rl_rewriter.benchmark.extended_actions import ActionSources
from rl_rewriter.benchmark.folder_lock import hold, release
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.significance import holm
from tests.beir import shop
from tests.forms import COLLECTION, RESULTS, assert_has_form
from tests.unit.benchmark.comparison.conftest import CONFIG

TFIDF, BM25 = StoreConfig(base="tfidf"), StoreConfig(base="bm25")


class Stages:
    """What was told about progress: stage of each collection -> how much there was to do."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.totals[stage] = total


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory, cache_of_this_run: None) -> BenchmarkRequest:
    folder = tmp_path_factory.mktemp("benchmark")
    stores = tuple(
        dataclasses.replace(store, cache_dir=folder / "cache") for store in (TFIDF, BM25)
    )
    return BenchmarkRequest(
        data=(str(shop(folder / "shop")),), out=folder / "run", stores=stores, config=CONFIG
    )


@pytest.fixture(scope="module")
def results(request_: BenchmarkRequest) -> dict[str, Any]:
    return run_benchmark(request_)


def elsewhere(request: BenchmarkRequest, folder: Path, **changes: Any) -> BenchmarkRequest:
    """The same run in a copy of its folder."""
    shutil.copytree(request.out, folder / "copy")
    return dataclasses.replace(request, out=folder / "copy", **changes)


def with_config(request: BenchmarkRequest, **changes: Any) -> BenchmarkRequest:
    return dataclasses.replace(request, config=dataclasses.replace(request.config, **changes))


def test_results_are_printed_as_they_are_written(
    request_: BenchmarkRequest, results: dict[str, Any]
) -> None:
    assert_has_form(results, RESULTS)
    for record in results["collections"]:
        assert_has_form(record, COLLECTION)
    assert json.loads((request_.out / "results.json").read_text("utf-8")) == results
    assert [record["retriever"] for record in results["collections"]] == ["tfidf", "bm25"]
    for record in results["collections"]:
        folder = request_.out / f"shop.{record['retriever']}"
        assert json.loads((folder / "record.json").read_text("utf-8")) == record


def test_the_policys_tests_are_corrected_over_the_run(results: dict[str, Any]) -> None:
    for name in ("policy_vs_keep", "policy_vs_best_fixed"):
        tests = [record["tests"][name] for record in results["collections"]]
        assert [test["p_holm"] for test in tests] == holm([test["p_value"] for test in tests])
    for record in results["collections"]:
        versus = record["arms"]["policy"]["versus_keep"]
        assert versus["p_holm"] == record["tests"]["policy_vs_keep"]["p_holm"]


def test_a_second_run_touches_nothing(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing is searched or trained: outcomes and policies are gone, and aren't made again."""
    again = elsewhere(request_, tmp_path)
    for folder in again.out.glob("*/fits"):
        shutil.rmtree(folder)
    stages = Stages()
    stores = tuple(dataclasses.replace(s, cache_dir=tmp_path / "none") for s in again.stores)
    assert run_benchmark(dataclasses.replace(again, stores=stores), stages) == results
    assert stages.totals == {}
    assert not (tmp_path / "none").exists()
    assert not list(again.out.glob("*/fits"))


def test_a_known_result_needs_no_retriever(
    request_: BenchmarkRequest, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a retriever was opened")

    monkeypatch.setattr("rl_rewriter.benchmark.workbench.open_retriever", fail)
    assert run_benchmark(request_) == results
    with pytest.raises(AssertionError, match="a retriever was opened"):
        run_benchmark(with_config(request_, folds=2))


def test_a_run_that_was_stopped_is_taken_up(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path
) -> None:
    """The second collection was being compared: two of its six policies were trained."""
    again = elsewhere(request_, tmp_path)
    [*lost, _, _] = sorted((again.out / "shop.bm25" / "fits").iterdir())
    for path in [*lost, again.out / "shop.bm25" / "key.json", again.out / "results.json"]:
        path.unlink()
    stages = Stages()
    found = run_benchmark(again, stages)
    assert stages.totals == {"shop.bm25: training policies": 4}
    for record, before in zip(found["collections"], results["collections"], strict=True):
        assert {**record, "seconds": None} == {**before, "seconds": None}


def test_another_seed_trains_its_policies_alone(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path
) -> None:
    stages = Stages()
    run_benchmark(with_config(elsewhere(request_, tmp_path), seeds=3), stages)
    assert stages.totals == {
        "shop.tfidf: training policies": 3,
        "shop.bm25: training policies": 3,
    }


def test_another_retriever_leaves_the_others_alone(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path
) -> None:
    first = dataclasses.replace(request_, out=tmp_path / "run", stores=request_.stores[:1])
    shutil.copytree(request_.out / "shop.tfidf", first.out / "shop.tfidf")
    alone = run_benchmark(first)
    [record] = alone["collections"]
    assert (
        record["tests"]["policy_vs_keep"]["p_holm"]
        == (record["tests"]["policy_vs_keep"]["p_value"])
    )
    stages = Stages()
    both = run_benchmark(dataclasses.replace(first, stores=request_.stores), stages)
    assert all(stage.startswith("shop.bm25") for stage in stages.totals)
    assert [r["tests"] for r in both["collections"]] == [r["tests"] for r in results["collections"]]


def test_fewer_actions_need_no_search(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path
) -> None:
    fewer = elsewhere(request_, tmp_path, sources=ActionSources(patterns="keywords*"))
    stages = Stages()
    found = run_benchmark(with_config(fewer, seeds=0), stages)
    assert stages.totals == {}
    assert set(found["collections"][0]["actions"]) == {"keep", "keywords", "keywords@0.5"}
    before = results["collections"][0]["actions"]
    assert found["collections"][0]["actions"]["keywords"] == pytest.approx(before["keywords"])


def test_one_run_writes_to_a_folder_at_a_time(tmp_path: Path, request_: BenchmarkRequest) -> None:
    """The lock of another process is played by a second open file of this one."""
    import fcntl

    with (tmp_path / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=f"another run writes to {tmp_path}"):
            run_benchmark(dataclasses.replace(request_, out=tmp_path))
    assert hold(tmp_path, alone=True)
    release(tmp_path)


def test_generated_environments_are_compared_by_their_own_metric(tmp_path: Path) -> None:
    request = BenchmarkRequest(
        data=("simulator:2",),
        out=tmp_path / "run",
        limit_queries=40,
        config=dataclasses.replace(CONFIG, seeds=1, folds=None),
    )
    [record] = run_benchmark(request)["collections"]
    assert (record["name"], record["metric"], record["n_queries"]) == ("simulator:2", "hits@3", 40)
    assert set(record["arms"]["policy"]["metrics"]) == {
        *("hits@3", "ndcg@10", "mrr@10", "recall@10", "map@10", "hits@10"),
    }
    assert run_benchmark(request)["collections"] == [record]


MOODY = """
asked = []
fails = True

def ask(prompt):
    asked.append(prompt)
    if fails and len(asked) % 2:
        raise ConnectionError("refused")
    return "refund"
"""


def test_failed_calls_of_a_language_model_are_made_again(
    request_: BenchmarkRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "moody_model.py").write_text(MOODY, "utf-8")
    model: Any = importlib.import_module("moody_model")
    asking = dataclasses.replace(
        with_config(request_, seeds=0),
        out=tmp_path / "run",
        stores=request_.stores[:1],
        sources=ActionSources(
            llm=("moody_model:ask",), patterns="llm:keywords/*", cache_dir=tmp_path / "cache"
        ),
    )
    [first] = run_benchmark(asking)["collections"]
    assert any("failed on" in note for note in first["notes"])
    n_asked, model.fails = len(model.asked), False
    [second] = run_benchmark(asking)["collections"]
    assert len(model.asked) == n_asked + n_asked // 2
    assert not any("failed on" in note for note in second["notes"])
    assert second["actions"]["llm:keywords/ask"] != first["actions"]["llm:keywords/ask"]
    assert run_benchmark(asking)["collections"] == [second]
    assert len(model.asked) == n_asked + n_asked // 2


@pytest.mark.parametrize("file", ["per_query.parquet", "examples.json", "runs/policy.run"])
def test_a_damaged_folder_is_written_anew(
    request_: BenchmarkRequest, results: dict[str, Any], tmp_path: Path, file: str
) -> None:
    again = elsewhere(request_, tmp_path)
    damaged = again.out / "shop.bm25" / file
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:10])
    (again.out / "shop.tfidf" / "training.jsonl").unlink()
    run_benchmark(again)
    if damaged.suffix != ".json":  # examples hold documents in an order of their own
        assert damaged.read_bytes() == whole
    assert damaged.stat().st_size == len(whole)
    assert (again.out / "shop.tfidf" / "training.jsonl").exists()


def test_results_of_someone_else_are_left_alone(request_: BenchmarkRequest, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"x": 1}', "utf-8")
    with pytest.raises(InputError, match=r"results\.json isn't the result of a run"):
        run_benchmark(dataclasses.replace(request_, out=tmp_path))
    assert json.loads((tmp_path / "results.json").read_text("utf-8")) == {"x": 1}
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", ".lock"}
