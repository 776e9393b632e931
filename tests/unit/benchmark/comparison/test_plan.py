"""What a run will do, and what its results depend on."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.words import Keywords
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig, parse_metrics
from rl_rewriter.benchmark.comparison.memory import actions_content, content_of
from rl_rewriter.benchmark.comparison.plan import BenchmarkRequest, plan
from rl_rewriter.benchmark.extended_actions import ActionSources
from rl_rewriter.benchmark.rewrites import read_rewrites
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import load_collection
from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from tests.beir import shop, write_rows

TFIDF, BM25 = StoreConfig(base="tfidf"), StoreConfig(base="bm25")


@pytest.fixture
def request_(shop_folder: Path, tmp_path: Path) -> BenchmarkRequest:
    return BenchmarkRequest(data=(str(shop_folder),), out=tmp_path, stores=(TFIDF,))


def test_each_collection_is_searched_by_each_retriever(shop_folder: Path, tmp_path: Path) -> None:
    other = shop(tmp_path / "other" / "shop")
    request = BenchmarkRequest(
        data=(str(shop_folder), "simulator:3", str(other), str(shop_folder)),
        out=tmp_path / "run",
        stores=(TFIDF, BM25),
    )
    items = plan(request)
    assert [item.folder.name for item in items] == [
        "shop.tfidf",
        "shop.bm25",
        "simulator-3.tfidf",
        "shop.tfidf-2",
        "shop.bm25-2",
    ]
    assert {item.folder.parent for item in items} == {tmp_path / "run"}
    assert items[0].store.folder == items[1].store.folder == tmp_path / "run" / "chroma" / "shop"
    assert items[3].store.folder == tmp_path / "run" / "chroma" / "shop-2"
    assert items[0].key == items[3].key  # the same content, wherever it lies


def test_a_path_counts_once_however_it_is_written(
    shop_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop_folder.parent)
    name = shop_folder.name
    data = (name, f"{name}/", f"./{name}", str(shop_folder), "simulator", f"{name}/../{name}")
    items = plan(BenchmarkRequest(data=data, out=tmp_path, stores=(TFIDF,)))
    assert [item.data for item in items] == [name, "simulator"]


def test_a_folder_with_the_name_of_bundled_data_is_another_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    request = BenchmarkRequest(data=("demo", "./demo"), out=tmp_path / "run", stores=(TFIDF,))
    assert [item.data for item in plan(request)] == ["demo", "./demo"]


def test_malformed_data_are_found_before_anything_is_begun(
    shop_folder: Path, tmp_path: Path
) -> None:
    request = BenchmarkRequest(data=(str(shop_folder), str(tmp_path / "none")), out=tmp_path)
    with pytest.raises(InputError, match="none"):
        plan(request)


def changed_config(**changes: Any) -> Callable[[BenchmarkRequest], BenchmarkRequest]:
    return lambda request: dataclasses.replace(
        request, config=dataclasses.replace(request.config, **changes)
    )


@pytest.mark.parametrize(
    "change",
    [
        changed_config(seed=1),
        changed_config(seeds=2),
        changed_config(folds=3),
        changed_config(metric=Metric("mrr", 5)),
        changed_config(metrics=parse_metrics("recall@100")),
        changed_config(fit=FitConfig(reinforce=ReinforceConfig(updates=7))),
        lambda request: dataclasses.replace(request, stores=(BM25,)),
        lambda request: dataclasses.replace(request, limit_queries=10),
        lambda request: dataclasses.replace(request, sources=ActionSources(patterns="keywords*")),
        lambda request: dataclasses.replace(
            request, stores=(StoreConfig(embedder=str(Path(__file__).parent)),)
        ),
    ],
)
def test_results_depend_on_every_setting(
    request_: BenchmarkRequest, change: Callable[[BenchmarkRequest], BenchmarkRequest]
) -> None:
    [before], [after] = plan(request_), plan(change(request_))
    assert before.key != after.key
    json.dumps(after.key)


def test_results_do_not_depend_on_where_and_by_whom(
    request_: BenchmarkRequest, tmp_path: Path
) -> None:
    there = dataclasses.replace(
        request_,
        out=tmp_path / "there",
        stores=(dataclasses.replace(TFIDF, cache_dir=tmp_path / "cache"),),
        config=dataclasses.replace(request_.config, workers=7),
    )
    assert plan(there)[0].key == plan(request_)[0].key


def test_results_depend_on_the_rewrites_of_a_file(
    request_: BenchmarkRequest, tmp_path: Path
) -> None:
    ids = [query.id for query in load_collection(request_.data[0]).queries]
    keys = []
    for text in ("a rewrite", "another"):
        path = tmp_path / "rewrites.jsonl"
        write_rows(path, [{"_id": id_, "text": text, "arm": "mine"} for id_ in ids])
        sources = ActionSources(rewrites=read_rewrites(path))
        keys.append(plan(dataclasses.replace(request_, sources=sources))[0].key)
    assert keys[0] != keys[1] != plan(request_)[0].key


def test_results_depend_on_the_code_of_a_language_model(
    request_: BenchmarkRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    asking = dataclasses.replace(request_, sources=ActionSources(llm=("model_of_mine:ask",)))
    keys = []
    for answer in ("one", "another", "one"):
        source = f"def ask(prompt):\n    return {answer!r}\n"
        (tmp_path / "model_of_mine.py").write_text(source, "utf-8")
        sys.modules.pop("model_of_mine", None)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "dont_write_bytecode", True)
            importlib.invalidate_caches()
            keys.append(plan(asking)[0].key)
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize(
    "part", ["documents", "queries", "qrels", "groups", "kinds", "test_ids", "notes"]
)
def test_results_depend_on_everything_in_a_collection(shop_folder: Path, part: str) -> None:
    collection = load_collection(str(shop_folder))
    first, second = collection.queries[0], collection.queries[-1]
    changes: dict[str, Any] = {
        "documents": {**collection.documents, "new": "text"},
        "queries": (*collection.queries[:-1], dataclasses.replace(second, text="other words")),
        "qrels": {**collection.qrels, first.id: {"refund": 1.5}},
        "groups": {**collection.groups, first.id: "alone"},
        "kinds": {**collection.kinds, first.id: "odd"},
        "test_ids": frozenset([second.id]),
        "notes": ("be careful",),
    }
    changed = dataclasses.replace(collection, **{part: changes[part]})
    assert content_of(changed) != content_of(collection)
    assert content_of(dataclasses.replace(collection)) == content_of(collection)


def test_actions_are_told_apart_by_all_they_hold() -> None:
    plain = actions_content([Keep(), Keywords()])
    assert actions_content([Keywords()]) == plain
    assert actions_content([Keywords(strength=0.5)]) != plain


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"folds": 1}, "at least two folds are needed to cross-validate, got 1"),
        ({"seeds": -1}, "seeds must not be negative, got -1"),
        ({"seed": -3}, "seeds must not be negative, got -3"),
        ({"workers": 0}, "at least one worker is needed, got 0"),
        ({"metrics": ()}, "name at least one metric to report"),
        (
            {"metrics": parse_metrics("ndcg@1000000000")},
            "metrics may look at 1000 documents at most, got ndcg@1000000000",
        ),
        ({"fit": FitConfig(embedding_components=8)}, "embedding_components"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        BenchmarkConfig(**changes)


def test_metrics_are_parsed_and_reported_once() -> None:
    config = BenchmarkConfig(metrics=parse_metrics("ndcg@10, mrr@5,,ndcg@10"))
    names = [metric.name for metric in config.reported(Metric("hits", 3))]
    assert names == ["hits@3", "ndcg@10", "mrr@5"]
    with pytest.raises(InputError, match="unknown metric 'accuracy@3'"):
        parse_metrics("accuracy@3")
