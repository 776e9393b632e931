from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.bootstrap import MOST_UNITS, bootstrap
from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.estimators import dr, snips
from rl_rewriter.evaluation.off_policy.intervals import (
    StudentT,
    contribution_span,
    empirical_bernstein,
    normal_quantile,
    student_t,
    t_quantile,
)
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from tests.unit.evaluation.off_policy.worlds import world


def mean_of(*values: float) -> Contributions:
    return Contributions((Part(np.asarray(values)),))


def ratio_of(numerator: list[float], weights: list[float]) -> Contributions:
    return Contributions((Part(np.asarray(numerator), np.asarray(weights)),))


# Student-t


def test_the_interval_of_a_mean_is_students() -> None:
    """1, 2, 3, 4, 5: mean 3, deviation sqrt(2.5), t of 4 degrees of freedom 2.776."""
    found = student_t(mean_of(1.0, 2.0, 3.0, 4.0, 5.0))
    assert (found.value, found.freedom) == (3.0, 4.0)
    assert found.error == pytest.approx(math.sqrt(2.5 / 5))
    low, high = found.interval()
    assert (high - 3.0, 3.0 - low) == pytest.approx((2.776 * math.sqrt(0.5),) * 2, rel=1e-3)
    assert found.lower_bound(0.95) == pytest.approx(3.0 - 2.132 * math.sqrt(0.5), rel=1e-3)


def test_a_p_value_belongs_to_the_lower_bound() -> None:
    found = StudentT(value=0.3, error=0.1, freedom=12.0)
    for level in (0.8, 0.95, 0.99):
        assert found.p_above(found.lower_bound(level)) == pytest.approx(1.0 - level)


def test_without_spread_the_estimate_is_certain() -> None:
    found = student_t(mean_of(0.5, 0.5, 0.5))
    assert found.interval() == (0.5, 0.5)
    assert (found.p_above(0.4), found.p_above(0.5)) == (0.0, 1.0)


def test_groups_of_equal_size_count_as_their_means() -> None:
    values = np.random.default_rng(0).normal(size=12)
    grouped = student_t(mean_of(*values), np.repeat(np.arange(4), 3))
    means = student_t(mean_of(*values.reshape(4, 3).mean(axis=1)))
    assert grouped.error == pytest.approx(means.error)
    assert grouped.freedom == means.freedom == 3.0


def test_saying_the_same_ten_times_proves_no_more() -> None:
    once = [0.2, 0.7, 0.1, 0.4]
    tenfold = student_t(mean_of(*once * 10), np.tile(np.arange(4), 10))
    assert tenfold.error == pytest.approx(student_t(mean_of(*once)).error)
    assert student_t(mean_of(*once * 10)).error < tenfold.error


def test_a_ratio_has_as_many_degrees_of_freedom_as_records_that_carry_it() -> None:
    """Ten records of weight 1 among 1,000 of weight 0: far fewer than 999."""
    weights = np.zeros(1000)
    weights[:10] = 1.0
    rewards = np.random.default_rng(0).normal(size=1000)
    found = student_t(Contributions((Part(weights * rewards, weights),)))
    assert 2.0 < found.freedom < 15.0
    assert student_t(Contributions((Part(weights * rewards),))).freedom == 999.0


def test_a_single_record_with_weight_gives_no_interval() -> None:
    found = student_t(ratio_of([0.0, 1.0, 0.0], [0.0, 2.0, 0.0]))
    assert (found.value, found.error) == (0.5, math.inf)
    assert found.interval() == (-math.inf, math.inf)
    assert found.p_above(0.0) == 0.5


@pytest.mark.parametrize("interval", [student_t, bootstrap, lambda c: empirical_bernstein(c, 1.0)])
def test_one_record_gives_no_interval(interval: Callable[[Contributions], object]) -> None:
    with pytest.raises(InputError, match="at least two independent records, got 1"):
        interval(mean_of(1.0))


def test_quantiles_of_the_tables() -> None:
    assert t_quantile(10.0, 0.975) == pytest.approx(2.228, abs=1e-3)
    assert normal_quantile(0.8) == pytest.approx(0.8416, abs=1e-4)


@pytest.mark.parametrize(
    ("estimator", "spread"), [(snips, 0.0), (snips, 1.5), (dr, 0.0), (dr, 1.5)]
)
def test_intervals_cover_the_true_value_as_often_as_they_say(
    estimator: Callable[[LoggedSample], Contributions], spread: float
) -> None:
    logged, covered, n_logs = world(spread=spread), 0, 200
    for seed in range(n_logs):
        sample = logged.sample(400, seed, with_model=estimator is dr)
        low, high = student_t(estimator(sample)).interval()
        covered += low <= logged.value <= high
    # What 200 logs allow intervals of 93 to 97 in 100, at 99 in 100.
    assert 0.88 * n_logs <= covered <= 0.99 * n_logs


# Bootstrap


def test_the_bootstrap_agrees_with_student_where_records_are_many() -> None:
    sample = world(spread=0.0).sample(3000, 0)
    for estimator in (dr, snips):
        estimate = estimator(sample)
        spread = student_t(estimate)
        low, high = bootstrap(estimate, draws=1000)
        assert (estimate.value - low) / spread.error == pytest.approx(1.96, abs=0.2)
        assert (high - estimate.value) / spread.error == pytest.approx(1.96, abs=0.2)


def test_the_bootstrap_resamples_whole_groups() -> None:
    values = np.random.default_rng(0).normal(size=40)
    once = bootstrap(mean_of(*values), draws=2000)
    grouped = bootstrap(mean_of(*np.repeat(values, 5)), np.repeat(np.arange(40), 5), draws=2000)
    assert grouped == pytest.approx(once, abs=0.02)


def test_blocks_of_many_records_give_the_interval_of_the_records() -> None:
    rng = np.random.default_rng(0)
    values = rng.exponential(size=3 * MOST_UNITS)
    low, high = bootstrap(mean_of(*values), draws=1000)
    error = values.std() / math.sqrt(len(values))
    assert (values.mean() - low) / error == pytest.approx(1.96, abs=0.2)
    assert (high - values.mean()) / error == pytest.approx(1.96, abs=0.2)


def test_many_groups_are_resampled_in_blocks_of_groups() -> None:
    n_groups = 2 * MOST_UNITS
    values = np.random.default_rng(0).normal(size=n_groups)
    groups = np.repeat(np.arange(n_groups), 2)
    low, high = bootstrap(mean_of(*np.repeat(values, 2)), groups, draws=1000)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(n_groups), rel=0.1)


def test_equal_seeds_draw_equal_resamples() -> None:
    estimate = snips(world(spread=0.0).sample(200, 0))
    assert bootstrap(estimate, seed=1) == bootstrap(estimate, seed=1)
    assert bootstrap(estimate, seed=1) != bootstrap(estimate, seed=2)


def test_a_resample_without_weight_leaves_the_interval_open() -> None:
    assert bootstrap(ratio_of([0.0, 1.0, 0.0], [0.0, 2.0, 0.0])) == (-math.inf, math.inf)


# Bernstein


def test_bernsteins_bound_by_hand() -> None:
    """Variance .25, n = 5, log(2 / .025) = 4.382."""
    low, high = empirical_bernstein(mean_of(0.0, 0.5, 1.0, 0.0, 1.0), 1.0)
    reach = math.sqrt(2 * 0.25 * 4.382 / 5) + 7 * 4.382 / 12
    assert (low, high) == pytest.approx((0.5 - reach, 0.5 + reach), rel=1e-3)


def test_bernsteins_bound_of_groups_is_that_of_their_means() -> None:
    values = np.random.default_rng(0).random(12)
    grouped = empirical_bernstein(mean_of(*values), 1.0, np.repeat(np.arange(4), 3))
    means = empirical_bernstein(mean_of(*values.reshape(4, 3).mean(axis=1)), 1.0)
    assert grouped == pytest.approx(means)


def test_bernsteins_bound_is_not_given_for_ratios() -> None:
    with pytest.raises(InputError, match="not for self-normalised"):
        empirical_bernstein(ratio_of([1.0, 0.0], [1.0, 1.0]), 1.0)


@pytest.mark.parametrize(
    ("rewards", "with_model", "expected"),
    [
        ((0.0, 1.0), False, 8.0),
        ((-1.0, 1.0), False, 16.0),
        ((0.5, 1.0), False, 8.0),  # a weight may be 0
        ((0.0, 1.0), True, 17.0),
        ((-1.0, 1.0), True, 34.0),
    ],
)
def test_what_a_record_can_contribute(
    rewards: tuple[float, float], with_model: bool, expected: float
) -> None:
    assert contribution_span(rewards, 8.0, with_model=with_model) == expected


@pytest.mark.parametrize("error", [0.0, 1e-17])
def test_an_error_of_rounding_shows_no_gain(error: float) -> None:
    assert StudentT(1e-16, error, 99.0).p_above(0.0) == 1.0
    assert StudentT(0.1, error, 99.0).p_above(0.0) == 0.0
    assert StudentT(0.1, error, 99.0).p_above(0.1) == 1.0
