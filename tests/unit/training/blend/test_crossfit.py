"""What is valued was not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rl_rewriter.training.blend.crossfit import (
    cross_fit_by_query,
    cross_fit_same_for_all,
)
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.ladder.folds import group_folds
from tests.unit.training.blend.parts import FAST, UNTUNED, judge_of, world


def with_gains_of(pools: Pools, rows: np.ndarray, other: np.ndarray) -> Pools:
    """Some queries with the grades of others."""
    gains = pools.gains.copy()
    gains[rows] = pools.gains[other]
    return replace(pools, gains=gains)


def test_a_fold_is_searched_alike_whatever_its_own_judgements_are() -> None:
    drawn = world(60)
    folds = group_folds(drawn.groups, 3, seed=0)
    _, held_out = next(folds.parts())
    weights = []
    for pools in (drawn.pools, with_gains_of(drawn.pools, held_out, held_out[::-1])):
        learner = Learner(judge_of(pools, drawn.states), FAST)
        same = cross_fit_same_for_all(replace(learner, config=UNTUNED), folds)
        found = cross_fit_by_query(
            replace(
                learner, config=replace(UNTUNED, by_query=replace(FAST.by_query, pulls=(0.1,)))
            ),
            folds,
            same,
        )
        weights.append((same.found.weights[held_out], found.weights[held_out]))
    assert np.array_equal(weights[0][0], weights[1][0])
    assert np.array_equal(weights[0][1], weights[1][1])


def test_permuted_judgements_give_no_gain() -> None:
    drawn = world(120, help_of_query=2.0)
    permuted = with_gains_of(drawn.pools, np.arange(120), np.random.default_rng(0).permutation(120))
    folds = group_folds(drawn.groups, 3, seed=0)
    learner = Learner(judge_of(permuted, drawn.states), FAST)
    same = cross_fit_same_for_all(learner, folds)
    by_query = cross_fit_by_query(learner, folds, same)
    keep = learner.judge.keep(np.arange(120))
    for values in (same.found.values, by_query.values):
        gains = values - keep
        assert gains.mean() < 2 * folds.standard_error(gains)


def test_tuning_stays_only_where_it_is_not_worse() -> None:
    drawn = world(60)
    folds = group_folds(drawn.groups, 3, seed=0)
    wild = replace(FAST, fine_tune=replace(FAST.fine_tune, learning_rate=20.0))
    same = cross_fit_same_for_all(Learner(judge_of(drawn.pools, drawn.states), wild), folds)
    assert same.tuned < same.untuned
    assert not same.found.tuned
    assert same.found.values.mean() == same.untuned
    assert same.served is same.bases
