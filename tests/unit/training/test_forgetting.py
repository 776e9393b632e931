"""A half-life makes the policy follow a world that changed, and does nothing where none is set."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.actions.space import default_actions
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.config import SECONDS_A_DAY
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewards.group_effects import others_effects
from rl_rewriter.rewards.outcome_model import cross_fitted, fit_outcome_model
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.forgetting import effective_size, forgetting
from rl_rewriter.training.imputed import ImputeConfig, imputed_table, supported
from rl_rewriter.training.offline import OfflineConfig, fit_policy_to_logs
from rl_rewriter.training.offline_report import LogFitReport, interval_of_gain
from rl_rewriter.types import Needs
from tests.bandits import FEATURES, NAMES, bandit, truth_of

TERMS = CollectionStatistics.from_texts(["money back", "parcel"])
QUICK = OfflineConfig(
    fit=FitConfig(
        reinforce=ReinforceConfig(updates=150, warm_up=20, learning_rate=0.01, evaluate_every=25)
    )
)
DAYS = 30.0


def new_truth(states: np.ndarray) -> np.ndarray:
    """The second action is now bad where it was good, and the other way round."""
    return truth_of(states * [-1.0, *[1.0] * (states.shape[1] - 1)])


def changed_world(n: int = 3000, *, old: float = 0.75) -> LoggedBandit:
    """A month of records, of which the first share ``old`` are of a world that is gone."""
    log, rng = bandit(n), np.random.default_rng(7)
    later = np.arange(n) >= old * n
    new = new_truth(log.states)[np.arange(n), log.actions] + rng.normal(0.0, 0.1, n)
    times = np.linspace(0.0, DAYS * SECONDS_A_DAY, n)
    return replace(log, rewards=np.where(later, new, log.rewards), times=times)


def fit(log: LoggedBandit, half_life_days: float | None) -> tuple[Checkpoint, LogFitReport]:
    config = replace(QUICK, half_life_days=half_life_days)
    known = default_actions(~Needs.NOTHING)
    return fit_policy_to_logs(log, known=known, statistics=TERMS, config=config)


def value_today(checkpoint: Checkpoint) -> float:
    """True value in the new world."""
    states = bandit(1000, seed=99).states
    mask = np.ones((1000, len(checkpoint.actions)), dtype=np.bool_)
    chosen = checkpoint.policy.distribution(checkpoint.features.standardised(states), mask).greedy()
    columns = np.asarray([NAMES.index(name) for name in checkpoint.actions.names])
    return float(new_truth(states)[np.arange(1000), columns[chosen]].mean())


def test_with_forgetting_the_policy_follows_the_new_world_and_without_it_does_not() -> None:
    log = changed_world()
    best = new_truth(bandit(1000, seed=99).states).max(axis=1).mean()
    keeping, _ = fit(log, None)
    forgetful, report = fit(log, 2.0)
    assert value_today(keeping) < 0.4  # worse than to keep every query
    assert value_today(forgetful) > 0.4 + 0.7 * (best - 0.4)
    assert report.gain_ci95[0] > 0
    assert report.effective_records is not None
    # A flow of 100 a day at a half-life of 2 days: (sum w)^2 / sum w^2 = 2 * 100 * 2 / ln 2.
    assert report.effective_records == pytest.approx(400 / math.log(2), rel=0.02)
    assert any("weight of" in warning for warning in report.warnings)


def test_without_a_half_life_nothing_is_weighted() -> None:
    checkpoint, report = fit(bandit(), None)
    alike, _ = fit(replace(bandit(), times=bandit().times[::-1].copy()), None)
    assert report.effective_records is None
    assert alike.policy.version == checkpoint.policy.version
    assert checkpoint.training["settings"]["half_life_days"] is None


def test_weights_are_halved_with_each_half_life_from_the_newest_record_on() -> None:
    times = np.asarray([0.0, 5.0, 10.0]) * SECONDS_A_DAY
    weights = forgetting(bandit(3, times=times), 5.0).weights
    assert weights is not None
    np.testing.assert_allclose(weights, [0.25, 0.5, 1.0])
    assert effective_size(weights) == pytest.approx(1.75**2 / 1.3125)


def test_records_of_any_age_keep_a_weight_that_can_be_divided_by() -> None:
    log = forgetting(bandit(2, times=np.asarray([0.0, 1e12])), 0.001)
    assert log.weights is not None
    assert log.weights.min() > 0


@pytest.mark.parametrize("days", [0.0, -1.0, math.nan, math.inf])
def test_a_half_life_that_is_no_length_of_time_is_refused(days: float) -> None:
    with pytest.raises(InputError, match="half_life_days must be a positive number"):
        OfflineConfig(half_life_days=days)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_equal_weights_give_what_no_weights_give(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((n, 2)).astype(np.float32)
    actions, rewards = rng.integers(0, 2, n), rng.random(n)
    groups, ones = rng.integers(0, max(1, n // 2), n), np.ones(n)
    plain = fit_outcome_model(states, actions, rewards, 2)
    weighted = fit_outcome_model(states, actions, rewards, 2, weights=ones)
    np.testing.assert_allclose(weighted.coefficients, plain.coefficients, atol=1e-8)
    np.testing.assert_allclose(
        others_effects(rewards, groups, ones), others_effects(rewards, groups), atol=1e-9
    )
    np.testing.assert_allclose(
        interval_of_gain(rewards, list("ab" * n)[:n], ones),
        interval_of_gain(rewards, list("ab" * n)[:n]),
    )


def test_a_record_of_weight_two_counts_as_two_in_means_and_fits() -> None:
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((50, len(FEATURES.columns))).astype(np.float32)
    twice = np.concatenate([raw, raw[:20]])
    weights = np.where(np.arange(50) < 20, 2.0, 1.0)
    found, expected = (FeatureSet.fitted_on(FEATURES, raw, weights), FEATURES.fitted_on(twice))
    assert found.mean is not None and expected.mean is not None  # noqa: PT018  # for the types
    assert found.scale is not None and expected.scale is not None  # noqa: PT018  # likewise
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-5)
    actions = np.asarray([0, 0, 1])
    assert supported(actions, 3, 2, np.asarray([1.0, 1.0, 3.0])).tolist() == [True, True, False]


def test_weights_that_do_not_fit_the_records_are_refused() -> None:
    log = bandit(50)
    for wrong in (np.ones(49), np.zeros(50), np.full(50, np.nan)):
        with pytest.raises(InputError, match="50 positive weights"):
            cross_fitted(log.states, log.actions, log.rewards, 3, weights=wrong)


def test_the_mean_that_weighting_starts_from_forgets_too() -> None:
    log = replace(bandit(400), rewards=np.repeat([0.0, 1.0], 200))
    log = replace(log, weights=np.repeat([1e-6, 1.0], 200))
    values = imputed_table(log, ImputeConfig(estimator="ips", largest_weight=1e-9)).values
    np.testing.assert_allclose(values, 1.0, atol=1e-5)
