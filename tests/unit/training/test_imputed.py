"""Imputed rewards are unbiased for every action, as far as weights aren't cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.training.imputed import ImputeConfig, imputed_parts, imputed_table, supported
from tests.bandits import bandit, truth_of

UNCUT = ImputeConfig(largest_weight=np.inf)


def test_its_means_are_doubly_robust_estimates() -> None:
    log = bandit(6000)
    table = imputed_table(log, UNCUT)
    truth = truth_of(log.states).mean(axis=0)
    error = table.values.std(axis=0) / np.sqrt(len(log))
    assert (np.abs(table.values.mean(axis=0) - truth) < 4 * error).all()
    assert (table.rewards[:, 0] == 0).all()
    assert np.array_equal(table.states, log.states)


def test_without_a_model_states_play_no_part() -> None:
    log = bandit(400)
    shuffled = bandit(400, states=log.states[::-1].copy())
    config = ImputeConfig(estimator="ips", largest_weight=np.inf)
    assert np.array_equal(imputed_table(log, config).values, imputed_table(shuffled, config).values)


def test_a_cut_weight_moves_an_imputed_reward_less() -> None:
    log = bandit(500)
    rows = np.arange(len(log))
    predicted = imputed_table(log, ImputeConfig(estimator="dm")).values
    for largest, weight in ((1.0, 1.0), (2.0, 2.0), (100.0, 3.0)):
        table = imputed_table(log, ImputeConfig(largest_weight=largest))
        residual = log.rewards - predicted[rows, log.actions]
        expected = predicted[rows, log.actions] + weight * residual
        assert table.values[rows, log.actions] == pytest.approx(expected)


def test_masked_actions_are_worth_keep() -> None:
    mask = np.ones((300, 3), dtype=np.bool_)
    mask[:, 2] = False
    log = bandit(300, mask=mask, actions=np.zeros(300, dtype=np.intp))
    table = imputed_table(log, UNCUT)
    assert np.array_equal(table.values[:, 2], table.values[:, 0])
    assert (table.rewards[:, 2] == 0).all()


def test_a_decision_of_unknown_propensity_is_only_predicted() -> None:
    log = bandit(300)
    propensities = log.propensities.copy()
    propensities[:10] = np.nan
    unknown = bandit(300, propensities=propensities)
    table = imputed_table(unknown, UNCUT)
    predicted = imputed_table(unknown, ImputeConfig(estimator="dm"))
    assert np.array_equal(table.values[:10], predicted.values[:10])
    assert not np.array_equal(table.values[10:], predicted.values[10:])


def test_rows_to_learn_from_know_nothing_of_the_rows_to_choose_by() -> None:
    log, rows = bandit(600), (list(range(400)), list(range(400, 600)))
    rewards = log.rewards.copy()
    rewards[400:] = np.random.default_rng(9).random(200)
    for estimator in ("dr", "dm", "ips"):
        config = ImputeConfig(estimator=estimator)
        before = imputed_parts(log, rows, config).values
        after = imputed_parts(bandit(600, rewards=rewards), rows, config).values
        assert np.array_equal(before[:400], after[:400])
        moved = not np.array_equal(before[400:], after[400:])
        assert moved == (estimator != "dm")  # where a prediction is all, it is of the others


def test_rows_to_choose_by_are_predicted_from_the_others() -> None:
    log, rows = bandit(3000), (list(range(2000)), list(range(2000, 3000)))
    found = imputed_parts(log, rows, ImputeConfig(estimator="dm")).values[2000:]
    truth = truth_of(log.states)[2000:]
    assert np.abs(found - truth).mean() < np.abs(truth - truth.mean(axis=0)).mean()


def test_actions_need_support() -> None:
    log = bandit(30, actions=np.asarray([1] * 29 + [2]))
    assert supported(log.actions, 3, 10).tolist() == [True, True, False]
    assert supported(log.actions, 3, 1).tolist() == [True, True, True]


def test_without_states_nothing_is_imputed() -> None:
    with pytest.raises(InputError, match="holds no states"):
        imputed_table(bandit(20, states=np.zeros((20, 0), dtype=np.float32)), UNCUT)


@pytest.mark.parametrize(
    "wrong", [{"estimator": "magic"}, {"largest_weight": 0.0}, {"least_records": 0}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        ImputeConfig(**wrong)
