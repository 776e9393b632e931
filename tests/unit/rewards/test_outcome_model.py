"""What each action would have earned, by models that never saw the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.outcome_model import OutcomeConfig, cross_fitted, fit_outcome_model
from rl_rewriter.rewards.outcome_moments import Moments, moments_by_fold

Array = npt.NDArray[np.float64]
FIXED = OutcomeConfig(shared_penalties=(1.0,), own_penalties=(10.0,))
"""Nothing is chosen on all rows."""


def linear(n: int, *, seed: int = 0, noise: float = 0.1) -> tuple[Any, Any, Array, Array]:
    """States, actions and rewards of three actions with slopes of their own, and true means."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n, 2)).astype(np.float32)
    slopes = np.asarray([[1.0, 0.0], [1.0, 0.5], [0.5, -0.5]])
    expected = states @ slopes.T + np.asarray([0.0, 0.5, -0.5])
    actions = rng.integers(3, size=n)
    rewards = expected[np.arange(n), actions] + noise * rng.normal(size=n)
    return states, actions, rewards, expected


def nothing(n: int) -> npt.NDArray[np.float32]:
    return np.empty((n, 0), dtype=np.float32)


def test_a_linear_world_is_learned() -> None:
    states, actions, rewards, expected = linear(3000)
    inside = (np.abs(expected) < 1.5).all(axis=1)  # predictions stay within the rewards seen
    predicted = cross_fitted(states, actions, rewards, 3)
    assert predicted.shape == (3000, 3)
    assert np.abs(predicted - expected)[inside].max() < 0.1
    again = fit_outcome_model(states, actions, rewards, 3).predict(states)
    assert np.abs(again - expected)[inside].max() < 0.1


def test_a_row_does_not_see_its_own_reward() -> None:
    states, actions, rewards, _ = linear(60)
    before = cross_fitted(states, actions, rewards, 3, config=FIXED)
    rewards[7] = 0.9 * rewards.max()  # within the range, to which predictions are cut
    after = cross_fitted(states, actions, rewards, 3, config=FIXED)
    changed = np.abs(after - before).max(axis=1) > 1e-12
    assert not changed[7]
    assert changed.any()


def test_a_group_does_not_see_its_own_rewards() -> None:
    states, actions, rewards, _ = linear(60)
    groups = np.arange(60) // 4
    before = cross_fitted(states, actions, rewards, 3, groups=groups, config=FIXED)
    rewards[8] = 0.9 * rewards.max()
    after = cross_fitted(states, actions, rewards, 3, groups=groups, config=FIXED)
    assert after[8:12] == pytest.approx(before[8:12], abs=1e-12)
    assert np.abs(after - before).max() > 1e-6


def test_without_states_predictions_are_the_actions_means_drawn_together() -> None:
    """Folds of the two groups: the other group's rewards are 1, 1, 0 and 0, 0, 1."""
    actions, groups = np.asarray([0, 0, 1, 0, 0, 1]), np.asarray([0, 0, 0, 1, 1, 1])
    rewards = np.asarray([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    config = OutcomeConfig(folds=2, prior_records=2.0)
    predicted = cross_fitted(nothing(6), actions, rewards, 3, groups=groups, config=config)
    # All actions earn 1/3 in the second group: 0 was logged twice, 1 once, 2 never.
    expected = [1 / 3 + (0 - 2 / 3) / 4, 1 / 3 + (1 - 1 / 3) / 3, 1 / 3]
    assert predicted[0] == pytest.approx(expected)
    assert predicted[3] == pytest.approx([2 / 3 + (2 - 4 / 3) / 4, 2 / 3 - 2 / 9, 2 / 3])


def test_a_rare_action_is_given_what_the_others_earn() -> None:
    states, actions, rewards, expected = linear(2000, noise=0.01)
    actions[actions == 2] = 0
    rewards = expected[np.arange(2000), actions]
    predicted = cross_fitted(states, actions, rewards, 4)
    common = predicted[:, :2].mean(axis=1)
    assert np.isfinite(predicted).all()
    assert predicted[:, 3] == pytest.approx(predicted[:, 2])
    assert np.corrcoef(predicted[:, 3], common)[0, 1] > 0.95


def test_without_anything_to_learn_the_penalties_are_high() -> None:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(400, 20)).astype(np.float32)
    actions, rewards = rng.integers(3, size=400), rng.random(400)
    predicted = cross_fitted(states, actions, rewards, 3)
    assert predicted.std() < 0.06  # least squares would give some .1


@given(st.integers(0, 1000))
def test_predictions_stay_within_the_rewards(seed: int) -> None:
    states, actions, rewards, _ = linear(30, seed=seed)
    rewards = (rewards > 0).astype(np.float64)
    for predicted in (
        cross_fitted(states, actions, rewards, 3),
        fit_outcome_model(states, actions, rewards, 3).predict(100.0 * states),
    ):
        assert predicted.min() >= rewards.min()
        assert predicted.max() <= rewards.max()


def test_predictions_do_not_depend_on_the_units_of_the_states() -> None:
    states, actions, rewards, _ = linear(200)
    other = states * np.asarray([1000.0, 0.01], dtype=np.float32) + np.float32(5.0)
    constant = np.column_stack([other, np.full(200, 7.0, dtype=np.float32)])
    found = cross_fitted(constant, actions, rewards, 3)
    assert found == pytest.approx(cross_fitted(states, actions, rewards, 3), abs=1e-3)


def test_equal_seeds_give_equal_folds() -> None:
    states, actions, rewards, _ = linear(100)
    found = [
        cross_fitted(states, actions, rewards, 3, config=OutcomeConfig(seed=seed))
        for seed in (1, 1, 2)
    ]
    assert (found[0] == found[1]).all()
    assert not (found[0] == found[2]).all()


def test_sums_over_folds_are_those_of_all_rows() -> None:
    """More rows than are worked on at a time."""
    states, actions, rewards, _ = linear(150_000)
    fold = np.arange(150_000) % 2
    scaling, parts = moments_by_fold(states, actions, rewards, 3, fold, 2)
    design = scaling.design(states, np.flatnonzero(actions == 1))
    total: Moments = parts[0] + parts[1]
    assert total.gram[1] == pytest.approx(design.T @ design, rel=1e-9, abs=1e-6)
    coefficients = np.ones((3, 3))
    errors = rewards - scaling.design(states, np.arange(150_000)).sum(axis=1)
    assert total.error(coefficients) == pytest.approx(float(errors @ errors))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"rewards": np.ones(3)}, "needs one state, action and reward a record, got shapes"),
        ({"states": np.ones(4, dtype=np.float32)}, "needs one state, action and reward a record"),
        ({"actions": np.asarray([0, 1, 2, 3])}, "actions must lie in 0 to 2, got 0 to 3"),
        ({"actions": np.asarray([0, -1, 2, 1])}, "actions must lie in 0 to 2, got -1 to 2"),
        ({"rewards": np.asarray([0.0, np.nan, 1.0, np.inf])}, "2 of 4 records have a state or"),
        ({"groups": np.zeros(3, dtype=np.intp)}, r"groups of shape \(3,\) for 4 records"),
        ({"groups": np.zeros(4, dtype=np.intp)}, "records of at least two groups, got one"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(changed: dict[str, Any], complaint: str) -> None:
    arrays: dict[str, Any] = {
        "states": np.ones((4, 1), dtype=np.float32),
        "actions": np.asarray([0, 1, 2, 0]),
        "rewards": np.asarray([0.0, 1.0, 0.5, 0.0]),
        "n_actions": 3,
    }
    with pytest.raises(InputError, match=complaint):
        cross_fitted(**{**arrays, **changed})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"folds": 1}, "cross-fitting needs at least two folds, got 1"),
        ({"shared_penalties": ()}, "shared_penalties must be positive numbers"),
        ({"own_penalties": (1.0, 0.0)}, "own_penalties must be positive numbers"),
        ({"prior_records": 0.0}, "prior_records must be positive, got 0.0"),
    ],
)
def test_settings_that_cannot_be_solved_are_refused(
    settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        OutcomeConfig(**settings)
