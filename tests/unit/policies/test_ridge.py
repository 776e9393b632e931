"""Ridge regression from sums by fold: equal to scikit-learn's on the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from rl_rewriter.policies.ridge import Moments

RNG = np.random.default_rng(0)
STATES = RNG.normal(3.0, [1.0, 10.0, 0.1], (60, 3))
GAINS = STATES @ RNG.normal(size=(3, 4)) + RNG.normal(size=(60, 4))
FOLD = np.arange(60) % 4


@pytest.mark.parametrize("left_out", [(0,), (1, 3)])
@pytest.mark.parametrize("penalty", [0.5, 30.0])
def test_choices_are_those_of_a_regression_on_the_other_folds(
    left_out: tuple[int, ...], penalty: float
) -> None:
    learned, asked = ~np.isin(FOLD, left_out), np.isin(FOLD, left_out)
    mean, spread = STATES[learned].mean(axis=0), STATES[learned].std(axis=0)
    reference = Ridge(alpha=penalty).fit((STATES[learned] - mean) / spread, GAINS[learned])
    expected = reference.predict((STATES[asked] - mean) / spread).argmax(axis=1)

    regression = Moments.of(STATES, GAINS, FOLD).without(*left_out)
    mask = np.ones((asked.sum(), 4), np.bool_)
    found = regression.choices(STATES[asked], mask, (penalty, 1e12))

    assert found[0].tolist() == expected.tolist()
    assert len(set(expected.tolist())) > 1
    assert set(found[1].tolist()) == {int(GAINS[learned].mean(axis=0).argmax())}


def test_the_same_states_beside_other_gains() -> None:
    found = Moments.of(STATES, GAINS, FOLD).with_gains(STATES, GAINS[::-1], FOLD)
    expected = Moments.of(STATES, GAINS[::-1], FOLD)
    np.testing.assert_allclose(found.gain_products, expected.gain_products)
    np.testing.assert_allclose(found.gains, expected.gains)


def test_a_column_that_never_changes_tells_nothing() -> None:
    flat = np.column_stack([STATES, np.full(60, 7.0)])
    mask = np.ones((60, 4), np.bool_)
    without, beside = (
        Moments.of(states, GAINS, FOLD).without(0).choices(states, mask, (1.0,))
        for states in (STATES, flat)
    )
    np.testing.assert_array_equal(without, beside)


def test_what_is_impossible_is_not_chosen() -> None:
    mask = RNG.random((60, 4)) < 0.5
    mask[:, 0] = True
    found = Moments.of(STATES, GAINS, FOLD).without(0).choices(STATES, mask, (1.0,))[0]
    assert mask[np.arange(60), found].all()
