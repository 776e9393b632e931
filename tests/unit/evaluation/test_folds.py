"""Divisions never part what belongs together, and shuffles move only what is learned from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.folds import cross_validation, given_split

GROUPS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=30)


@given(GROUPS, st.integers(2, 6), st.integers(0, 9))
def test_a_group_lies_in_one_fold_and_every_row_is_chosen_for(
    groups: list[str], folds: int, seed: int
) -> None:
    found = cross_validation(groups, len(groups), folds, seed)
    fold_of = dict(zip(groups, found.number.tolist(), strict=True))
    assert [fold_of[group] for group in groups] == found.number.tolist()
    assert found.n_folds == min(folds, len(set(groups)))
    assert set(found.number.tolist()) == set(found.chosen_for) == set(range(found.n_folds))


def test_folds_are_as_even_as_groups_allow_and_drawn_by_their_seed() -> None:
    found = cross_validation(None, 23, 5, 0)
    assert sorted(np.bincount(found.number)) == [4, 4, 5, 5, 5]
    assert found.number.tolist() == cross_validation(None, 23, 5, 0).number.tolist()
    assert found.number.tolist() != cross_validation(None, 23, 5, 1).number.tolist()


def test_a_given_split_is_chosen_for_in_one_piece() -> None:
    found = given_split(["a", "a", "b", "c"], 4, 3, 2, 0)
    assert found.chosen_for == (2,)
    assert found.number[4:].tolist() == [2, 2, 2]
    assert set(found.number[:4].tolist()) == {0, 1}
    assert found.number[0] == found.number[1]


@pytest.mark.parametrize("folds", [-1, 0, 1])
def test_fewer_than_two_folds_are_refused(folds: int) -> None:
    with pytest.raises(InputError, match=f"at least two folds .+ got {folds}"):
        cross_validation(None, 9, folds, 0)
    with pytest.raises(InputError, match=f"at least two folds .+ got {folds}"):
        given_split(None, 9, 3, folds, 0)


@given(GROUPS, st.integers(0, 99))
def test_a_shuffle_is_a_permutation(groups: list[str], seed: int) -> None:
    found = cross_validation(groups, len(groups), 3, 0)
    order = found.shuffled(np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(len(groups)))


def test_equal_groups_change_places_whole() -> None:
    groups = [f"g{row % 10}" for row in range(40)]
    found = cross_validation(groups, 40, 5, 0)
    order = found.shuffled(np.random.default_rng(0))
    moved = {(group, groups[source]) for group, source in zip(groups, order, strict=True)}
    assert len(moved) == 10
    assert sum(group != source for group, source in moved) >= 7


def test_a_shuffle_leaves_rows_alone_that_are_only_chosen_for() -> None:
    order = given_split(None, 30, 5, 5, 0).shuffled(np.random.default_rng(0))
    assert order[30:].tolist() == [30, 31, 32, 33, 34]
    assert sorted(order[:30].tolist()) == list(range(30))
    assert (order[:30] != np.arange(30)).sum() > 20
