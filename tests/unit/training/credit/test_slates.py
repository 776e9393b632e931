"""Decisions that showed the same are one, and nothing of what they say is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.training.credit.slates import DEPTH, MOST_LISTS, Slates

ONE = st.tuples(
    st.integers(0, 3),
    st.lists(st.integers(0, 3), max_size=2),
    st.floats(-5, 5),
    st.floats(1e-12, 3),
)


def slates_of_lists(drawn: list[tuple[int, list[int], float, float]]) -> Slates:
    places = np.full((len(drawn), DEPTH), -1, dtype=np.int32)
    for row, (_, listed, _, _) in enumerate(drawn):
        places[row, : len(listed)] = listed
    return Slates(
        np.asarray([one[0] for one in drawn], dtype=np.intp),
        places,
        np.asarray([one[2] for one in drawn], dtype=np.float64),
        np.asarray([one[3] for one in drawn], dtype=np.float64),
    )


@given(st.lists(ONE, max_size=20))
def test_merging_keeps_totals(drawn: list[tuple[int, list[int], float, float]]) -> None:
    slates = slates_of_lists(drawn)
    merged = slates.merged()
    assert len(merged) == len({(row, tuple(listed)) for row, listed, _, _ in drawn})
    for row in range(4):
        before, after = slates.rows == row, merged.rows == row
        np.testing.assert_allclose(merged.weights[after].sum(), slates.weights[before].sum())
        np.testing.assert_allclose(
            merged.weights[after] @ merged.rewards[after],
            slates.weights[before] @ slates.rewards[before],
            atol=1e-12,
        )
    again = merged.merged()
    np.testing.assert_array_equal(again.places, merged.places)


def test_of_too_many_lists_the_heaviest_are_left() -> None:
    n = MOST_LISTS + 50
    lists = [(0, [place], 0.0, 1.0 + place % 7) for place in range(n)]
    merged = slates_of_lists([*lists, (1, [3], 0.5, 0.1)]).merged()
    assert (merged.rows == 0).sum() == MOST_LISTS
    assert (merged.rows == 1).sum() == 1
    left_out = set(range(n)) - set(merged.places[merged.rows == 0, 0].tolist())
    assert max(1 + place % 7 for place in left_out) <= merged.weights[merged.rows == 0].min()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"places": np.zeros((2, 3), dtype=np.int32)}, "slates of 2 decisions need as many lists"),
        ({"rewards": np.zeros(1)}, "slates of 2 decisions need as many lists"),
        ({"rewards": np.asarray([0.0, np.nan])}, "must be finite numbers"),
        ({"weights": np.asarray([1.0, 0.0])}, r"must be positive, got 0\.0"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], told: str) -> None:
    slates = slates_of_lists([(0, [1], 0.0, 1.0), (1, [2], 1.0, 1.0)])
    with pytest.raises(InputError, match=told) as caught:
        replace(slates, **changes)
    assert "\n" not in str(caught.value)
