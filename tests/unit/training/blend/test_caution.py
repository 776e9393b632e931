"""How far from keep a blend may go."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.blend.caution import hurt_share, with_caution
from tests.unit.training.blend.parts import judge_of, world

DRAWN = world(300, help_of_query=2.0)
JUDGE = judge_of(DRAWN.pools)
WEIGHTS = np.tile(np.asarray([0.1, 0.45, 0.45, 0.0], dtype=np.float32), (300, 1))
KEEP = JUDGE.keep(np.arange(300))


def test_without_a_limit_the_blend_stays_whole() -> None:
    found = with_caution(JUDGE, WEIGHTS, KEEP, None)
    assert found.strength == 1.0
    assert np.array_equal(found.values, JUDGE.values(np.arange(300), WEIGHTS))
    assert found.hurt == hurt_share(found.values, KEEP)


def test_a_limit_is_met_by_the_largest_share_that_meets_it() -> None:
    whole = with_caution(JUDGE, WEIGHTS, KEEP, None).hurt
    found = with_caution(JUDGE, WEIGHTS, KEEP, whole / 2)
    assert 0.0 < found.strength < 1.0
    assert found.hurt <= whole / 2
    stronger = found.strength + 0.1
    alone = np.eye(4, dtype=np.float32)[:1]
    values = JUDGE.values(np.arange(300), (1 - stronger) * alone + stronger * WEIGHTS)
    assert hurt_share(values, KEEP) > whole / 2


def test_where_every_share_hurts_keep_is_left() -> None:
    only_words = np.tile(np.eye(4, dtype=np.float32)[3], (300, 1))
    found = with_caution(JUDGE, only_words, KEEP, 0.0)
    assert (found.strength, found.hurt) == (0.0, 0.0)
    assert np.array_equal(found.values, KEEP)


@pytest.mark.parametrize(
    ("change", "share"), [(0.0, 0.0), (1e-12, 0.0), (-1e-12, 0.0), (-0.1, 1.0)]
)
def test_a_rounding_error_hurts_nobody(change: float, share: float) -> None:
    assert hurt_share(KEEP + change, KEEP) == share
