"""Tests and intervals against hand counts, scipy, and worlds in which the truth is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.significance import (
    EXACT_UP_TO,
    bootstrap_interval,
    group_numbers,
    holm,
    randomisation_test,
    t_test,
)

N_WORLDS = 200
TENTHS = st.integers(-10, 10).map(lambda tenths: tenths / 10)
SMALL = arrays(np.float64, st.integers(1, 9), elements=TENTHS)
P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


def counted(differences: npt.NDArray[np.float64]) -> float:
    """The share of all sign patterns whose sum is at least as far from 0, in whole tenths."""
    tenths = np.rint(10 * differences).astype(int)
    sums = [abs(int(np.dot(signs, tenths))) for signs in product((-1, 1), repeat=len(tenths))]
    return float(np.mean([total >= abs(tenths.sum()) for total in sums]))


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([1.0], 1.0),
        ([1.0, 2.0, 3.0], 2 / 8),
        ([1.0, -1.0], 1.0),
        ([1.0, 2.0, -1.0], 6 / 8),
        ([0.0, 0.0], 1.0),
        ([0.5, 0.5, 0.5, 0.5, 0.5], 2 / 32),
        ([0.1, 0.2, -0.3], 1.0),
        ([0.3, -0.1, -0.2, 0.0, 0.7, -0.7], 1.0),
    ],
)
def test_small_cases_counted_by_hand(differences: list[float], p_value: float) -> None:
    assert randomisation_test(np.asarray(differences)) == p_value


@given(SMALL)
def test_few_pairs_are_counted_exactly(differences: npt.NDArray[np.float64]) -> None:
    assert randomisation_test(differences) == pytest.approx(counted(differences))


@pytest.mark.parametrize("seed", range(5))
def test_few_pairs_as_scipy_has_them(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.4, 1.0, size=10)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_test(differences) == pytest.approx(expected.pvalue)


def test_many_pairs_are_drawn_close_to_what_counting_gives() -> None:
    differences = np.random.default_rng(0).normal(0.4, 1.0, size=EXACT_UP_TO + 1)
    exact = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_test(differences) == pytest.approx(exact.pvalue, abs=0.01)


@given(arrays(np.float64, st.integers(1, 30), elements=TENTHS), st.integers(0, 5))
def test_sides_can_be_exchanged_and_queries_without_a_difference_left_out(
    differences: npt.NDArray[np.float64], n_ties: int
) -> None:
    p_value = randomisation_test(differences, draws=200)
    assert 0.0 < p_value <= 1.0
    assert randomisation_test(-differences, draws=200) == p_value
    padded = np.concatenate([np.zeros(n_ties), differences])
    assert randomisation_test(padded, draws=200) == p_value


def test_the_p_value_is_never_zero() -> None:
    certain = np.ones(1000)
    assert randomisation_test(certain, draws=500) == 1 / 501
    assert randomisation_test(certain) < 0.001


def test_about_a_twentieth_of_true_nulls_is_rejected() -> None:
    """Differences as of nDCG: mostly none, the rest of either sign."""
    rng = np.random.default_rng(0)
    rejected = 0
    for world in range(N_WORLDS):
        sizes = rng.choice([0.0, 0.0, 0.05, 0.37, 1.0], size=80)
        differences = sizes * rng.choice([-1.0, 1.0], size=80)
        rejected += randomisation_test(differences, draws=500, seed=world) < 0.05
    # 1.5 to 8.5 percent: what 200 worlds allow a test of five percent, at 99 in 100.
    assert 3 <= rejected <= 17


def test_groups_are_numbered_from_0() -> None:
    assert group_numbers(["b", "a", "b", "c"], 4).tolist() == [1, 0, 1, 2]
    assert group_numbers(None, 3).tolist() == [0, 1, 2]


def test_groups_change_sign_together() -> None:
    rng = np.random.default_rng(0)
    differences, groups = rng.normal(size=40), [f"g{n}" for n in rng.integers(0, 9, size=40)]
    sums: dict[str, float] = defaultdict(float)
    for group, value in zip(groups, differences, strict=True):
        sums[group] += value
    expected = randomisation_test(np.asarray(list(sums.values())))
    assert randomisation_test(differences, groups=groups) == pytest.approx(expected)
    assert randomisation_test(differences) != pytest.approx(expected)


def test_asking_the_same_thing_ten_times_proves_no_more() -> None:
    differences = np.asarray([0.2, 0.1, -0.1, 0.3, 0.1])
    groups = [f"need {n}" for n in range(5)]
    once = randomisation_test(differences, groups=groups)
    tenfold = randomisation_test(np.tile(differences, 10), groups=groups * 10)
    assert tenfold == pytest.approx(once)
    assert randomisation_test(np.tile(differences, 10)) < once


@given(arrays(np.float64, st.integers(2, 30), elements=st.floats(-1.0, 1.0, width=32)))
def test_the_t_test_is_scipys(differences: npt.NDArray[np.float64]) -> None:
    if differences.std() < 1e-6:  # decided by rounding alone
        return
    baseline = np.linspace(0.0, 1.0, len(differences))
    expected = stats.ttest_rel(baseline + differences, baseline).pvalue
    assert t_test((baseline + differences) - baseline) == pytest.approx(expected, rel=1e-9)


def test_a_t_test_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), t = 3.464 with two degrees."""
    assert t_test(np.asarray([1.0, 2.0, 3.0])) == pytest.approx(0.0741799)


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [([0.3], 1.0), ([0.0, 0.0, 0.0], 1.0), ([0.5, 0.5, 0.5], 0.0), ([0.5, -0.5], 1.0)],
)
def test_t_tests_that_have_no_spread(differences: list[float], p_value: float) -> None:
    assert t_test(np.asarray(differences)) == pytest.approx(p_value)


def test_a_grouped_t_test_is_that_of_the_groups_sums() -> None:
    differences, groups = np.asarray([0.1, 0.2, -0.1, 0.4, 0.3]), ["a", "a", "b", "c", "c"]
    expected = stats.ttest_1samp([0.3, -0.1, 0.7], 0.0).pvalue
    assert t_test(differences, groups=groups) == pytest.approx(expected)
    tenfold = t_test(np.tile(differences, 10), groups=groups * 10)
    assert tenfold == pytest.approx(expected)


@pytest.mark.parametrize("n_groups", [5, 20])
def test_a_grouped_t_test_keeps_its_level_where_few_groups_hold_most_queries(
    n_groups: int,
) -> None:
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(1000):
        sizes = np.where(rng.random(n_groups) < 0.2, 40, 1)
        index = np.repeat(np.arange(n_groups), sizes)
        differences = rng.normal(size=n_groups)[index] + rng.normal(size=len(index))
        rejected += t_test(differences, groups=[f"g{i}" for i in index]) < 0.05
    assert rejected <= 68  # 5% of 1000, plus 2.6 standard errors


@pytest.mark.parametrize("function", [randomisation_test, bootstrap_interval, t_test])
@pytest.mark.parametrize(
    ("values", "groups", "complaint"),
    [
        ([], None, "a comparison needs at least one query"),
        ([[0.0, 1.0]], None, "a comparison needs at least one query"),
        ([0.0, np.nan], None, "a comparison got NaN or infinite values"),
        ([np.inf], None, "a comparison got NaN or infinite values"),
        ([0.0, 1.0], ["a"], "got 1 groups for 2 queries"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    function: object, values: list[float], groups: Sequence[str] | None, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        function(np.asarray(values), groups=groups)  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["normal", "exponential", "zero-inflated"])
def test_intervals_cover_the_true_mean_as_often_as_they_say(kind: str) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for world in range(N_WORLDS):
        if kind == "normal":
            values, truth = rng.normal(0.1, 1.0, size=60), 0.1
        elif kind == "exponential":
            values, truth = rng.exponential(1.0, size=60), 1.0
        else:
            values, truth = rng.choice([0.0, 0.0, 0.0, 1.0, -0.5], size=60), 0.1
        low, high = bootstrap_interval(values, draws=500, seed=world)
        covered += low <= truth <= high
    assert 0.90 * N_WORLDS <= covered <= 0.98 * N_WORLDS


def test_grouped_intervals_cover_where_queries_come_in_groups() -> None:
    """Groups of different sizes, alike within: intervals that ignore them are too narrow."""
    rng = np.random.default_rng(0)
    covered = {"grouped": 0, "ignored": 0}
    for world in range(N_WORLDS):
        sizes = rng.integers(1, 9, size=50)
        names = [f"g{group}" for group, size in enumerate(sizes) for _ in range(size)]
        values = np.repeat(rng.normal(0.3, 1.0, size=50), sizes) + rng.normal(0, 0.1, len(names))
        for kind, groups in (("grouped", names), ("ignored", None)):
            low, high = bootstrap_interval(values, groups=groups, draws=500, seed=world)
            covered[kind] += low <= 0.3 <= high
    assert 0.90 * N_WORLDS <= covered["grouped"] <= 0.98 * N_WORLDS
    assert covered["ignored"] < 0.80 * N_WORLDS


def test_an_interval_holds_the_mean_and_widens_with_its_level() -> None:
    values = np.random.default_rng(0).exponential(size=100)
    narrow, wide = (bootstrap_interval(values, level=level) for level in (0.5, 0.95))
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)


@pytest.mark.parametrize(("level", "deviations"), [(0.95, 1.96), (0.8, 1.28)])
def test_an_interval_of_many_values_is_the_normal_one(level: float, deviations: float) -> None:
    values = np.random.default_rng(0).normal(size=2000)
    error = values.std() / np.sqrt(len(values))
    low, high = bootstrap_interval(values, level=level)
    assert (values.mean() - low) / error == pytest.approx(deviations, rel=0.05)
    assert (high - values.mean()) / error == pytest.approx(deviations, rel=0.05)


def test_an_interval_of_equal_values_is_that_value() -> None:
    assert bootstrap_interval(np.full(7, 0.25)) == (0.25, 0.25)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.02]) == [0.02]
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(P_VALUES, st.floats(0.001, 1.0))
def test_holm_rejects_what_the_step_down_procedure_rejects(
    p_values: list[float], alpha: float
) -> None:
    """Smallest first, each against alpha over the number left, until the first that isn't below."""
    rejected = set()
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, position in enumerate(order):
        if p_values[position] * (len(p_values) - rank) > alpha:
            break
        rejected.add(position)
    corrected = holm(p_values)
    if alpha < 1.0:
        assert {i for i, p in enumerate(corrected) if p <= alpha} == rejected
    assert all(p <= c <= 1.0 for p, c in zip(p_values, corrected, strict=True))
