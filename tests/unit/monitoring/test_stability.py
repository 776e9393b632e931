"""The index beside what chance makes of it, in every kind of column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rl_rewriter.monitoring.stability import bins_of, population_stability, stability

RNG = np.random.default_rng(0)
COLUMN = st.integers(1, 60).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(width=32, allow_nan=True))
)


def of(reference: np.ndarray, recent: np.ndarray, groups: np.ndarray | None = None):  # type: ignore[no-untyped-def]  # what it returns is what is tested
    codes = bins_of(reference, recent)
    return stability(codes, len(reference), np.arange(len(codes)) if groups is None else groups)


def test_the_index_is_siddiqis() -> None:
    before, now = np.asarray([50.0, 30.0, 20.0]) * 1e6, np.asarray([30.0, 30.0, 40.0]) * 1e6
    expected = 0.2 * math.log(0.5 / 0.3) + 0.2 * math.log(0.4 / 0.2)
    assert population_stability(before, now) == pytest.approx(expected, rel=1e-5)


def test_an_empty_bin_leaves_it_finite() -> None:
    assert 0 < population_stability(np.asarray([10.0, 0.0]), np.asarray([0.0, 10.0])) < math.inf


@given(COLUMN, COLUMN)
def test_any_two_columns_have_an_index_and_a_chance(a: np.ndarray, b: np.ndarray) -> None:
    found = of(a, b)
    assert 0.0 <= found.psi < math.inf
    assert 0.0 <= found.p_value <= 1.0
    assert 0.0 <= found.size <= found.psi


def test_where_nothing_changed_p_values_are_even_and_the_index_is_as_expected() -> None:
    found = [of(RNG.standard_normal(300), RNG.standard_normal(200)) for _ in range(400)]
    assert np.mean([f.p_value < 0.1 for f in found]) == pytest.approx(0.1, abs=0.05)
    assert np.mean([f.psi for f in found]) == pytest.approx(found[0].by_chance, rel=0.15)


def test_few_records_make_a_large_index_and_no_alarm() -> None:
    found = [of(RNG.standard_normal(60), RNG.standard_normal(60)) for _ in range(100)]
    assert np.mean([f.psi > 0.1 for f in found]) > 0.3
    assert np.mean([f.p_value < 0.001 for f in found]) < 0.02


def test_records_of_a_conversation_count_as_one_where_they_are_alike() -> None:
    rejected, naive = [], []
    for _ in range(200):
        values = np.repeat(RNG.standard_normal(150), 4)
        groups = np.repeat(np.arange(150), 4)
        rejected.append(of(values[:300], values[300:], groups).p_value < 0.05)
        naive.append(of(values[:300], values[300:]).p_value < 0.05)
    assert np.mean(rejected) < 0.1
    assert np.mean(naive) > 0.5


@pytest.mark.parametrize(
    ("reference", "recent"),
    [
        (np.zeros(500), np.where(np.arange(500) < 100, 1.0, 0.0)),
        (np.where(np.arange(500) < 10, np.nan, 1.0), np.where(np.arange(500) < 200, np.nan, 1.0)),
        (np.repeat([0.0, 1.0], [400, 100]), np.repeat([0.0, 1.0], [100, 400])),
        (RNG.standard_normal(500), RNG.standard_normal(500) + 0.8),
        (RNG.standard_normal(500), np.full(500, np.nan)),
        (np.full(500, np.nan), np.zeros(500)),
    ],
    ids=["constant no more", "more NaN", "two values", "numbers", "all NaN", "no longer NaN"],
)
def test_a_change_is_seen_in_every_kind_of_column(
    reference: np.ndarray, recent: np.ndarray
) -> None:
    found = of(reference, recent)
    assert found.p_value < 1e-6
    assert found.size > 0.1
    same = of(reference, reference.copy())
    assert same.psi == pytest.approx(0.0, abs=1e-9)
    assert same.p_value == pytest.approx(1.0)


def test_a_column_that_is_constant_on_both_sides_did_not_move() -> None:
    found = of(np.zeros(50), np.zeros(70))
    assert (found.psi, found.by_chance, found.p_value) == (0.0, 0.0, 1.0)
