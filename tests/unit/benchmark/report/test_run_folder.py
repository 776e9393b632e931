"""A run's folder: which files belong to which collection, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.report.run_folder import read_run
from rl_rewriter.errors import InputError
from tests.run_folders import Made, write_json, write_run_folder


def results(folder: Path, *collections: Any, schema: Any = 1) -> Path:
    write_json(folder / "results.json", {"schema": schema, "seed": 3, "collections": collections})
    return folder


def test_every_collection_has_its_own_files(tmp_path: Path) -> None:
    made = [Made(n=30), Made(n=40, retriever="bm25"), Made(n=50, name="other")]
    run = read_run(write_run_folder(tmp_path / "run", made))
    assert (run.name, run.seed) == ("run", 0)
    assert [c.per_query.n for c in run.collections if c.per_query] == [30, 40, 50]
    assert all(len(c.curves) == 15 and c.examples is not None for c in run.collections)


def test_a_folder_without_a_record_is_known_by_its_name(tmp_path: Path) -> None:
    write_run_folder(tmp_path, [Made(n=30)])
    home = next(tmp_path.glob("*/record.json")).parent
    (home / "record.json").unlink()
    assert read_run(tmp_path).collections[0].per_query is None
    home.rename(tmp_path / "help-centre.chroma")
    found = read_run(tmp_path).collections[0].per_query
    assert found is not None
    assert found.n == 30


def test_files_of_an_older_run_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    write_run_folder(tmp_path, [Made(n=30)])
    path = next(tmp_path.glob("*/record.json"))
    path.write_text(path.read_text().replace('"n_queries": 30', '"n_queries": 29'))
    path.parent.rename(tmp_path / "help-centre.chroma")
    assert read_run(tmp_path).collections[0].per_query is None


def test_results_alone_are_enough(tmp_path: Path) -> None:
    [found] = read_run(results(tmp_path, {"name": "a", "retriever": "b"})).collections
    assert found.per_query is None
    assert found.examples is None
    assert found.curves == ()


def test_a_name_is_never_followed_out_of_the_folder(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "x.y", [Made(n=30)])
    run = results(tmp_path, {"name": "x.y/collection-0", "retriever": "chroma"})
    assert read_run(run).collections[0].per_query is None


def test_training_metrics_of_the_run_are_those_of_its_only_collection(tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()
    line = {"update": 1, "validation/reward": 0.1}
    (tmp_path / "training" / "metrics.jsonl").write_text(json.dumps(line))
    one = {"name": "a", "retriever": "b"}
    [found] = read_run(results(tmp_path, one)).collections
    assert [curve.name for curve in found.curves] == ["metrics"]
    several = read_run(results(tmp_path, one, {"name": "c", "retriever": "b"})).collections
    assert [c.curves for c in several] == [(), ()]


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=r"there is no results\.json in"):
            read_run(folder)


@pytest.mark.parametrize("schema", [2, None, "1"])
def test_another_schema_is_refused(tmp_path: Path, schema: Any) -> None:
    with pytest.raises(InputError, match=r"results.json: schema must be"):
        read_run(results(tmp_path, {"name": "a", "retriever": "b"}, schema=schema))


def test_a_run_without_collections_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no collection"):
        read_run(results(tmp_path))


@pytest.mark.parametrize("name", ["record.json", "per_query.parquet", "training.jsonl"])
def test_a_file_that_is_malformed_is_named(tmp_path: Path, name: str) -> None:
    write_run_folder(tmp_path, [Made(n=30)])
    path = next(tmp_path.glob("*/record.json")).with_name(name)
    path.write_bytes(b"\x80 nonsense")
    with pytest.raises(InputError, match=f"collection-0.chroma/{name}"):
        read_run(tmp_path)
