"""Bounds that hold at every look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rollout.bounds import AlwaysValid, RunningMean


def running(values: list[float]) -> RunningMean:
    seen = RunningMean()
    for value in values:
        seen.add(value)
    return seen


@given(st.lists(st.floats(-1e3, 1e3), min_size=2))
def test_running_mean_and_deviation_are_those_of_all_values(values: list[float]) -> None:
    seen = running(values)
    assert seen.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert seen.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-6)


def test_the_reach_is_the_papers_formula() -> None:
    bounds, n, s = AlwaysValid(0.05, 400), 900, 2.0
    log = -2 * math.log(0.1)
    r2 = (log + math.log(1 + log)) / 400
    expected = s * math.sqrt(
        2 * (n * r2 + 1) / (n**2 * r2) * math.log(1 + math.sqrt(n * r2 + 1) / (2 * 0.05))
    )
    assert bounds.reach(n, s) == pytest.approx(expected)


def test_bounds_are_wider_than_those_of_one_look_and_shrink() -> None:
    bounds = AlwaysValid(0.05, 1_000)
    reaches = [bounds.reach(n, 1.0) for n in (10, 100, 1_000, 10_000, 1_000_000)]
    assert reaches == sorted(reaches, reverse=True)
    assert all(
        reach > 1.645 / math.sqrt(n)
        for reach, n in zip(reaches, (10, 100, 1_000, 10_000, 1_000_000), strict=True)
    )
    assert reaches[2] < 3.0 / math.sqrt(1_000)


def test_they_are_about_tightest_where_they_were_asked_to_be() -> None:
    at = {n: AlwaysValid(0.05, n).reach(1_000, 1.0) for n in (10, 100, 1_000, 10_000, 100_000)}
    assert min(at, key=at.__getitem__) == 1_000


def test_nothing_is_said_before_two_observations() -> None:
    for n in (0, 1):
        assert AlwaysValid().reach(n, 1.0) == math.inf
    assert running([1.0]).deviation == math.inf


def test_the_bound_is_ever_wrong_as_rarely_as_it_says_and_one_look_bounds_are_not() -> None:
    rng = np.random.default_rng(0)
    n, runs = 4_000, 200
    values = (rng.random((runs, n)) < 0.3).astype(float) - 0.3
    counts = np.arange(1, n + 1)
    means = np.cumsum(values, axis=1) / counts
    deviations = np.sqrt(0.21)
    looked = slice(99, None, 10)
    reach = np.array([AlwaysValid(0.05, 500).reach(int(k), deviations) for k in counts[looked]])
    always = (means[:, looked] > reach).any(axis=1).mean()
    once = (means[:, looked] > 1.645 * deviations / np.sqrt(counts[looked])).any(axis=1).mean()
    assert always <= 0.05
    assert once > 0.15


@pytest.mark.parametrize(("alpha", "at"), [(0.0, 10), (0.5, 10), (-1, 10), (float("nan"), 10)])
def test_chances_that_are_none_are_refused(alpha: float, at: int) -> None:
    with pytest.raises(InputError, match="alpha must lie"):
        AlwaysValid(alpha, at)
    with pytest.raises(InputError, match="tightest_at"):
        AlwaysValid(0.05, 0)
