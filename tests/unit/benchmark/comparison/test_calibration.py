"""Predicted gains against true ones."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.calibration import calibration, expected_gains
from rl_rewriter.evaluation.folds import cross_validation, given_split
from rl_rewriter.evaluation.significance import bootstrap_interval
from tests.tables import table_of

RNG = np.random.default_rng(4)


def test_bins_hold_as_many_queries_each_in_order_of_the_prediction() -> None:
    predicted, true = RNG.random(95), RNG.normal(0.1, 0.2, 95)
    bins = calibration(predicted, true, seed=3)
    assert [part["n"] for part in bins] == [10] * 5 + [9] * 5
    order = np.argsort(predicted)
    assert bins[0]["predicted"] == pytest.approx(predicted[order[:10]].mean())
    assert bins[0]["true"] == pytest.approx(true[order[:10]].mean())
    assert bins[0]["ci95"] == list(bootstrap_interval(true[order[:10]], seed=3))
    assert bins[-1]["predicted"] == pytest.approx(predicted[order[-9:]].mean())


def test_intervals_keep_groups_together() -> None:
    true, groups = RNG.random(10), list("aabbccddee")
    [*_, last] = calibration(np.arange(10.0), true, groups=groups)
    assert last["n"] == 1
    ordered = calibration(np.zeros(10), true, groups=groups)
    assert [part["true"] for part in ordered] == true.tolist()


def test_fewer_queries_than_bins() -> None:
    assert [part["n"] for part in calibration(np.array([0.1, 0.0]), np.zeros(2))] == [1, 1]


def test_gains_that_follow_the_state_are_expected() -> None:
    states = RNG.normal(size=(200, 2))
    gains = np.column_stack([np.zeros(200), 0.2 * states[:, 0], -0.1 * np.ones(200)])
    table = table_of(0.5 + gains, states=states)
    expected = expected_gains(table, cross_validation(None, 200, 5, 0))
    assert expected[:, 1] == pytest.approx(gains[:, 1], abs=0.02)
    assert expected[:, 2] == pytest.approx(gains[:, 2], abs=1e-6)
    assert expected[:, 0] == pytest.approx(0.0)


def test_nothing_is_learned_from_the_query_itself() -> None:
    """One query of huge gain changes the expectation of all others, and not its own."""
    states = RNG.normal(size=(60, 2))
    plain = np.full((60, 2), 0.5)
    one = plain.copy()
    one[7, 1] = 5.0
    folds = cross_validation(None, 60, 60, 0)
    before = expected_gains(table_of(plain, states=states), folds)
    after = expected_gains(table_of(one, states=states), folds)
    assert after[7] == pytest.approx(before[7])
    assert (after[:7, 1] != before[:7, 1]).all()


def test_queries_that_are_only_learned_from_have_none() -> None:
    table = table_of(RNG.random((50, 2)), states=RNG.normal(size=(50, 2)))
    expected = expected_gains(table, given_split(None, 30, 20, 5, 0))
    assert np.isnan(expected[:30]).all()
    assert np.isfinite(expected[30:]).all()
