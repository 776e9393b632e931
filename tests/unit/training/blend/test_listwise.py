"""Weights fitted to whole rankings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from rl_rewriter.errors import TrainingError
from rl_rewriter.training.blend.config import ByQueryConfig, ListwiseConfig
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.listwise import fit_same_for_all
from rl_rewriter.training.blend.network import SameForAll, generator_of
from rl_rewriter.types import Matrix
from tests.unit.training.blend.parts import FAST, judge_of, world

N = 200
ROWS = np.arange(N)
DRAWN = world(N)
LEARNER = Learner(judge_of(DRAWN.pools, DRAWN.states), FAST)
BASE = LEARNER.same_for_all(ROWS, 0)
FRESH = world(600, seed=9)


def value_on_fresh(weights: Matrix) -> float:
    """Mean value on queries that nothing was fitted to."""
    rows = np.arange(len(FRESH.pools))
    return float(judge_of(FRESH.pools).values(rows, np.broadcast_to(weights, (600, 4))).mean())


def test_weights_for_all_are_as_good_as_the_best_of_a_grid() -> None:
    shares = np.linspace(0, 1, 11)
    grid = [
        np.asarray([1 - left - right - words, left, right, words], dtype=np.float32)
        for left, right, words in product(shares, shares, (0.0, 0.1, 0.3))
        if left + right + words <= 1.0
    ]
    best = max(map(value_on_fresh, grid))
    found = LEARNER.weights(SameForAll(BASE.bias), ROWS[:1])[0]
    assert value_on_fresh(found) >= best - 0.01
    assert found[1] == pytest.approx(found[2], abs=0.1)
    assert found[3] < 0.1


def test_networks_find_the_kind_in_the_state() -> None:
    model = LEARNER.by_query(BASE, ROWS, 0.1, 0)
    weights = LEARNER.weights(model, ROWS)
    kinds = DRAWN.states[:, 0] > 0
    assert (weights[~kinds, 1] > 2 * weights[~kinds, 2]).all()
    assert (weights[kinds, 2] > 2 * weights[kinds, 1]).all()


def test_a_strong_pull_leaves_the_weights_for_all() -> None:
    loose, held = (LEARNER.by_query(BASE, ROWS, pull, 0) for pull in (0.1, 1000.0))
    states = LEARNER.judge.everything.states
    with torch.no_grad():
        shifts = [float(model.shift(states).pow(2).mean()) for model in (loose, held)]
    assert shifts[1] < 0.01 * shifts[0]


def test_networks_start_at_the_weights_for_all() -> None:
    learner = replace(
        LEARNER, config=replace(FAST, by_query=ByQueryConfig(steps=1, learning_rate=1e-12))
    )
    weights = learner.weights(learner.by_query(BASE, ROWS, 0.1, 0), ROWS)
    assert weights == pytest.approx(LEARNER.weights(SameForAll(BASE.bias), ROWS), abs=1e-6)


def test_the_same_seed_gives_the_same_numbers() -> None:
    again = LEARNER.same_for_all(ROWS, 0)
    assert np.array_equal(again.bias, BASE.bias)
    first, second = (LEARNER.by_query(BASE, ROWS, 0.3, 0).numpy() for _ in range(2))
    assert np.array_equal(first.outer, second.outer)
    member = LEARNER.by_query(BASE, ROWS, 0.3, 0, member=1).numpy()
    assert not np.array_equal(first.inner, member.inner)


def test_nothing_touches_the_global_generator() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    model = LEARNER.by_query(BASE, ROWS, 0.3, 0)
    LEARNER.tuned_by_query(model, ROWS, 0)
    assert torch.equal(torch.rand(4), expected)


def test_absent_views_get_no_weight_and_the_others_share_it() -> None:
    present = DRAWN.pools.present.copy()
    present[0, 1] = False
    learner = Learner(judge_of(replace(DRAWN.pools, present=present), DRAWN.states), FAST)
    weights = learner.weights(SameForAll(BASE.bias), ROWS)
    assert weights[0, 1] == 0.0
    assert weights.sum(axis=1) == pytest.approx(np.ones(N), abs=1e-6)


def test_a_loss_that_is_not_finite_stops_the_fit() -> None:
    with pytest.raises(TrainingError, match="step 1; lower learning_rate"):
        fit_same_for_all(
            LEARNER.judge.everything,
            ROWS,
            ListwiseConfig(temperature=1e4),
            generator_of(0),
        )
