"""Intervals of a mean gain know what is no new evidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.training.offline_report import interval_of_gain, widest_interval

GAINS = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=30).map(np.asarray)


@given(GAINS, st.integers(1, 20))
def test_asking_the_same_queries_again_narrows_nothing(gains: np.ndarray, times: int) -> None:
    """Each time in a conversation of its own; by conversations alone it would."""
    queries = [f"q{number}" for number in range(len(gains))]
    once = interval_of_gain(gains, queries)
    talks = [f"t{number}" for number in range(times * len(gains))]
    again = widest_interval(np.tile(gains, times), (talks, queries * times))
    assert again == pytest.approx(once, abs=1e-9)
    weights = np.full(len(talks), 0.3)
    weighted = widest_interval(np.tile(gains, times), (talks, queries * times), weights)
    assert weighted == pytest.approx(once, abs=1e-9)


@given(GAINS, st.randoms())
def test_no_grouping_makes_it_narrower(gains: np.ndarray, random: object) -> None:
    names = [[random.choice("abc") for _ in gains] for _ in range(2)]  # type: ignore[attr-defined]
    low, high = widest_interval(gains, names)
    for groups in names:
        one = interval_of_gain(gains, groups)
        assert sum(one) == pytest.approx(low + high, abs=1e-9)
        assert high - low >= one[1] - one[0]
