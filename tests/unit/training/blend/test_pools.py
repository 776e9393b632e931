"""Candidates with scores and grades."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from tests.unit.training.blend.parts import judge_of, world


def test_a_subset_is_the_pools_of_its_queries() -> None:
    pools = world(10).pools
    part = pools.subset([7, 2])
    assert len(part) == 2
    assert np.array_equal(part.scores, pools.scores[[7, 2]])
    assert np.array_equal(part.ideal, pools.ideal[[7, 2]])
    assert part.views == pools.views


def test_scales_are_ranges_among_candidates_where_the_view_is_present() -> None:
    pools = world(3).pools
    scores = pools.scores.copy()
    scores[:, :, 1] = np.linspace(0, 1, scores.shape[1]) * np.asarray([[2], [4], [100]])
    present = pools.present.copy()
    present[2, 1] = False
    scales = replace(pools, scores=scores, present=present).scales()
    assert scales[1] == pytest.approx(3.0)


def test_views_that_no_query_has_leave_a_scale_to_divide_by() -> None:
    pools = world(3).pools
    present = pools.present.copy()
    present[:, 2] = False
    assert replace(pools, present=present).scales()[2] == 1.0


def test_views_that_tell_nothing_apart_are_not_weighed_above_all_others() -> None:
    """Their scores are divided by 1, and not by next to nothing."""
    pools = world(3).pools
    scores = pools.scores.copy()
    scores[:, :, 3] = 0.0
    assert replace(pools, scores=scores).scales()[3] == 1.0


def test_views_that_no_query_has_can_be_left_out() -> None:
    pools = world(3).pools
    assert pools.of_present_views() is pools
    present = pools.present.copy()
    present[:, 2] = False
    found = replace(pools, present=present).of_present_views()
    assert found.views == ("query", "left", "words")
    assert found.is_lexical.tolist() == [False, False, True]
    assert np.array_equal(found.scores, pools.scores[:, :, [0, 1, 3]])
    assert found.present.all()
    assert np.array_equal(found.gains, pools.gains)


@pytest.mark.parametrize(
    ("name", "shape", "complaint"),
    [
        ("mask", (3, 4), "mask of pools"),
        ("gains", (2, 30), "gains of pools"),
        ("present", (3, 5), "present of pools"),
        ("ideal", (4, 1), "as many names and ideals"),
    ],
)
def test_pools_of_different_queries_are_refused(
    name: str, shape: tuple[int, ...], complaint: str
) -> None:
    changes: dict[str, Any] = {name: np.ones(shape)}
    with pytest.raises(InputError, match=complaint):
        replace(world(3).pools, **changes)


def test_a_query_without_its_own_view_is_refused() -> None:
    pools = world(3).pools
    present = pools.present.copy()
    present[1, 0] = False
    with pytest.raises(InputError, match="needs the first view"):
        replace(pools, present=present)


def test_a_query_that_finds_nothing_is_worth_nothing_and_changes_no_scale() -> None:
    pools = world(3).pools
    mask = pools.mask.copy()
    mask[1] = False
    part = replace(pools, mask=mask, gains=pools.gains * mask)
    assert part.scales() == pytest.approx(pools.subset([0, 2]).scales())
    expected = judge_of(pools).keep(np.arange(3)) * [1, 0, 1]
    assert judge_of(part).keep(np.arange(3)) == pytest.approx(expected)
