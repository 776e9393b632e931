"""Folds that never divide a group."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.ladder.folds import group_folds


def test_every_row_is_held_out_once_and_never_with_its_group_on_the_other_side() -> None:
    groups = [f"g{row // 3}" for row in range(30)]
    folds = group_folds(groups, 4, seed=1)
    held_out = []
    for rows, held in folds.parts():
        assert not {groups[row] for row in rows} & {groups[row] for row in held}
        assert len(rows) + len(held) == 30
        held_out += held.tolist()
    assert sorted(held_out) == list(range(30))


def test_other_folds_of_the_same_groups() -> None:
    folds = group_folds([f"g{row // 3}" for row in range(60)], 4, seed=1)
    other = folds.divided_anew((1, 1))
    assert not np.array_equal(other.number, folds.number)
    assert np.array_equal(other.groups, folds.groups)
    assert np.bincount(other.number).tolist() == np.bincount(folds.number).tolist() == [15] * 4
    assert all(len(np.unique(other.number[folds.groups == group])) == 1 for group in range(20))


def test_there_are_no_more_folds_than_groups() -> None:
    assert len(list(group_folds(["a", "a", "b"], 5, seed=0).parts())) == 2


def test_the_standard_error_of_single_rows_is_the_usual_one() -> None:
    differences = np.random.default_rng(0).standard_normal(50)
    folds = group_folds([str(row) for row in range(50)], 5, seed=0)
    assert folds.standard_error(differences) == pytest.approx(differences.std(ddof=1) / np.sqrt(50))


def test_rows_that_repeat_each_other_make_no_mean_more_certain() -> None:
    differences = np.random.default_rng(0).standard_normal(50)
    alone = group_folds([str(row) for row in range(50)], 5, seed=0)
    fourfold = group_folds([str(row // 4) for row in range(200)], 5, seed=0)
    assert fourfold.standard_error(np.repeat(differences, 4)) == pytest.approx(
        alone.standard_error(differences)
    )


def test_one_group_tells_nothing_of_others() -> None:
    assert group_folds(["a", "a"], 5, seed=0).standard_error(np.asarray([0.1, 0.2])) == np.inf
