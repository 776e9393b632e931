"""Which queries are held out when."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.division import divide
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query


def test_the_datas_own_split_is_kept_to(bench: Workbench) -> None:
    found = divide(bench, BenchmarkConfig())
    assert found.protocol == "split"
    assert found.queries == (*bench.train, *bench.test)
    assert found.groups == tuple(bench.groups_of([*bench.train, *bench.test]))
    [fold] = found.folds.chosen_for
    train, test = found.rows(fold)
    assert train.tolist() == list(range(len(bench.train)))
    assert test.tolist() == found.held_out.tolist()
    assert [found.queries[row] for row in test] == list(bench.test)


def test_folds_that_are_asked_for_cross_validate_all_queries(bench: Workbench) -> None:
    order = {query.id: -place for place, query in enumerate([*bench.train, *bench.test])}
    found = divide(bench, BenchmarkConfig(folds=4), order)
    assert found.protocol == "cv4"
    assert found.queries == tuple(reversed([*bench.train, *bench.test]))
    assert found.held_out.tolist() == list(range(len(found.queries)))
    held_out = [set(found.rows(fold)[1].tolist()) for fold in found.folds.chosen_for]
    assert set().union(*held_out) == set(range(len(found.queries)))
    assert sum(map(len, held_out)) == len(found.queries)
    for fold in found.folds.chosen_for:
        train, test = found.rows(fold)
        assert not {found.groups[row] for row in train} & {found.groups[row] for row in test}


def test_without_a_split_there_are_five_folds(bench: Workbench) -> None:
    found = divide(dataclasses.replace(bench, protocol="cv5"), BenchmarkConfig())
    assert found.protocol == "cv5"
    assert len(found.folds.chosen_for) == 5


def test_there_are_no_more_folds_than_groups(bench: Workbench) -> None:
    found = divide(bench, BenchmarkConfig(folds=50))
    assert found.protocol == f"cv{len(set(found.groups))}" == "cv12"


def test_another_seed_divides_otherwise(bench: Workbench) -> None:
    first = divide(bench, BenchmarkConfig(folds=3, seed=0)).folds.number
    second = divide(bench, BenchmarkConfig(folds=3, seed=1)).folds.number
    assert (first != second).any()
    np.testing.assert_array_equal(first, divide(bench, BenchmarkConfig(folds=3)).folds.number)


def test_queries_without_a_relevant_document_are_left_out(bench: Workbench) -> None:
    unjudged = dataclasses.replace(bench, train=(Query("who?", id="x"), *bench.train))
    assert divide(unjudged, BenchmarkConfig()).queries == (*bench.train, *bench.test)


def test_queries_that_all_belong_together_cannot_be_divided(bench: Workbench) -> None:
    groups = {query.id: "one" for query in (*bench.train, *bench.test)}
    together = dataclasses.replace(bench, groups=groups)
    with pytest.raises(InputError, match="60 queries of 'shop' belong together"):
        divide(together, BenchmarkConfig(folds=3))
