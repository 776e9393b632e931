"""From scores to rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.retrieval.ranking import min_max, top_ranking

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.5, 2.0]), max_size=30)


@given(SCORES, st.integers(1, 40), st.sampled_from([-np.inf, 0.0, 0.5]))
def test_top_is_the_head_of_a_sort_with_ties_by_descending_id(
    scores: list[float], k: int, above: float
) -> None:
    ids = [str(number) for number in range(len(scores))]
    ranking = top_ranking(ids, np.asarray(scores, dtype=np.float32), k, above=above)
    by_id = sorted(range(len(scores)), key=str, reverse=True)
    order = sorted(by_id, key=lambda row: -scores[row])
    expected = [row for row in order if scores[row] > above][:k]
    assert ranking.ids == tuple(str(row) for row in expected)
    assert ranking.scores.tolist() == [scores[row] for row in expected]


@pytest.mark.parametrize(
    ("scores", "normalised"),
    [([2, 4, 3], [0, 1, 0.5]), ([-1, -3], [1, 0]), ([0.7, 0.7], [1, 1]), ([5], [1]), ([], [])],
)
def test_min_max(scores: list[float], normalised: list[float]) -> None:
    assert min_max(np.asarray(scores, dtype=np.float32)).tolist() == normalised
