"""What a conversation's other queries earned tells how easy the conversation is."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.rewards.group_effects import others_effects, predicted_with_groups
from rl_rewriter.rewards.outcome_model import cross_fitted


def test_effects_by_hand() -> None:
    residuals = np.asarray([1.0, 1.0, -1.0, -1.0])
    groups = np.asarray([0, 0, 1, 1])
    # No variance within groups: the other row of the group tells all.
    assert others_effects(residuals, groups) == pytest.approx([1.0, 1.0, -1.0, -1.0])


def test_rows_without_company_have_no_effect() -> None:
    residuals = np.asarray([1.0, 2.0, 1.5, -4.5])
    assert others_effects(residuals, np.arange(4)).tolist() == [0.0] * 4
    mixed = others_effects(np.asarray([2.0, 2.2, 1.9, -6.1]), np.asarray([0, 0, 0, 1]))
    assert mixed[3] == 0.0
    assert (mixed[:3] > 0.5).all()


def test_a_row_alone_has_no_effect_where_nothing_varies_within_groups() -> None:
    found = others_effects(np.asarray([1.0, 1.0, -2.0]), np.asarray([0, 0, 1]))
    assert found.tolist() == [1.0, 1.0, 0.0]


def test_groups_that_do_not_differ_have_no_effect() -> None:
    residuals = np.asarray([1.0, -1.0, 1.0, -1.0])
    assert others_effects(residuals, np.asarray([0, 0, 1, 1])).tolist() == [0.0] * 4


def test_a_rows_own_reward_is_hardly_in_its_prediction() -> None:
    rng = np.random.default_rng(0)
    states = rng.standard_normal((60, 3)).astype(np.float32)
    actions, groups = rng.integers(0, 3, 60), np.repeat(np.arange(20), 3)
    rewards = rng.random(60) + np.repeat(rng.normal(0.0, 1.0, 20), 3)
    before = predicted_with_groups(states, actions, rewards, 3, groups=groups)
    # Another row of the group is another matter, and so is a group that a row's model learns from.
    changed = rewards.copy()
    changed[7] += 0.2
    after = predicted_with_groups(states, actions, changed, 3, groups=groups)
    moved = np.abs(after - before).max(axis=1)
    assert moved[7] < 0.25 * moved[[6, 8]].max()


def test_where_queries_come_back_predictions_are_better() -> None:
    rng = np.random.default_rng(1)
    n, n_groups = 2000, 200
    groups, actions = rng.integers(0, n_groups, n), rng.integers(0, 4, n)
    ease = rng.normal(0.0, 0.4, n_groups)
    truth = ease[groups][:, None] + np.asarray([0.0, 0.1, 0.2, -0.1])
    rewards = truth[np.arange(n), actions] + rng.normal(0.0, 0.1, n)
    states = rng.standard_normal((n, 2)).astype(np.float32)
    plain = cross_fitted(states, actions, rewards, 4, groups=groups)
    with_groups = predicted_with_groups(states, actions, rewards, 4, groups=groups)
    assert np.square(with_groups - truth).mean() < 0.2 * np.square(plain - truth).mean()


def test_without_groups_it_is_the_plain_model() -> None:
    rng = np.random.default_rng(2)
    states = rng.standard_normal((50, 2)).astype(np.float32)
    actions, rewards = rng.integers(0, 2, 50), rng.random(50)
    assert np.array_equal(
        predicted_with_groups(states, actions, rewards, 2),
        cross_fitted(states, actions, rewards, 2),
    )
