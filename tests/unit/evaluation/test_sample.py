"""Samples whose parts speak of other queries are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.sample import Sample, choice_problem
from tests.tables import identity_task, table_of

TABLE = identity_task(6, 3)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"groups": ["a"]}, "got 1 groups for 6 queries"),
        ({"kinds": ["a"] * 7}, "got 7 kinds for 6 queries"),
        ({"halves": np.zeros((1, 2, 6, 4))}, r"\(r, 2, 6, 3\) expected, got \(1, 2, 6, 4\)"),
    ],
)
def test_parts_of_other_queries(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Sample(TABLE, **parts)


def test_no_queries_at_all() -> None:
    with pytest.raises(InputError, match="at least one query"):
        Sample(TABLE.subset([]))


def test_groups_are_counted() -> None:
    assert Sample(TABLE).n_groups == 6
    assert Sample(TABLE, list("aabbbc")).n_groups == 3


def test_a_cross_validated_problem_is_the_sample() -> None:
    problem, rows = choice_problem(Sample(TABLE), None, 3, 0)
    assert rows.tolist() == list(range(6))
    np.testing.assert_allclose(problem.gains, TABLE.values - TABLE.values[:, :1])


def test_a_split_problem_has_the_training_queries_first() -> None:
    test = table_of([[0.5, 0.8, 0.1]], states=[[1.0, 2.0, 3.0]])
    problem, rows = choice_problem(Sample(test), Sample(TABLE), 2, 0)
    assert rows.tolist() == [6]
    assert problem.gains[6].tolist() == pytest.approx([0.0, 0.3, -0.4])
    assert problem.folds.chosen_for == (2,)


def test_samples_with_other_actions_or_features_do_not_go_together() -> None:
    others = (
        dataclasses.replace(TABLE, action_names=("keep", "x", "y")),
        dataclasses.replace(TABLE, states=np.ones((6, 2), np.float32)),
    )
    for other in others:
        with pytest.raises(InputError, match="must have the same actions and features"):
            choice_problem(Sample(TABLE), Sample(other), 2, 0)
