"""What a candidate gains, from sessions that come one by one."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.rollout.bounds import AlwaysValid
from rl_rewriter.rollout.comparison import BeforeAndAfter, SideBySide

BOUNDS = AlwaysValid(0.05, 1_000)


@pytest.mark.parametrize("gain", [-0.2, 0.0, 0.1])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_gain_is_found_whatever_the_share(gain: float, share: float) -> None:
    rng, seen = np.random.default_rng(1), SideBySide()
    for _ in range(6_000):
        is_candidate = bool(rng.random() < share)
        seen.add(rng.normal(0.5 + gain * is_candidate, 0.2), share, is_candidate=is_candidate)
    found = seen.gain(BOUNDS)
    assert found.lower < gain < found.upper
    assert found.value == pytest.approx(gain, abs=0.03)
    assert found.upper - found.lower < 0.12


def test_a_share_raised_at_a_bad_hour_bends_nothing() -> None:
    """At a share of .1 all earn .8, at .5 all earn .2: a plain difference of means is far below."""
    rng, seen = np.random.default_rng(2), SideBySide()
    for number in range(8_000):
        share, level = (0.1, 0.8) if number < 4_000 else (0.5, 0.2)
        seen.add(rng.normal(level, 0.1), share, is_candidate=bool(rng.random() < share))
    assert seen.candidate.mean - seen.baseline.mean < -0.2
    found = seen.gain(BOUNDS)
    assert found.value == pytest.approx(0.0, abs=0.05)
    assert found.lower < 0.0 < found.upper


def test_before_and_after_are_told_apart() -> None:
    rng, seen = np.random.default_rng(3), BeforeAndAfter()
    assert seen.gain(BOUNDS).upper == float("inf")
    for is_candidate, mean in ((False, 0.5), (True, 0.3)):
        for value in rng.normal(mean, 0.2, size=1_000):
            seen.add(value, 1.0, is_candidate=is_candidate)
    found = seen.gain(BOUNDS)
    assert found.value == pytest.approx(-0.2, abs=0.03)
    assert -0.3 < found.lower < -0.2 < found.upper < -0.1


@pytest.mark.parametrize("side_by_side", [True, False])
def test_a_side_that_happens_to_have_seen_no_rare_reward_isnt_surely_worse(
    side_by_side: bool,
) -> None:
    """One session in fifty is worth something; a hundred that are worth nothing are no wonder."""
    seen = SideBySide() if side_by_side else BeforeAndAfter()
    sides = [number % 10 == 0 for number in range(1_000)]
    for number, is_candidate in enumerate(sides if side_by_side else sorted(sides)):
        is_good = number % 50 == 1 and not is_candidate
        seen.add(float(is_good), 0.1, is_candidate=is_candidate)
    assert seen.candidate.mean < seen.baseline.mean
    assert seen.gain(BOUNDS).upper > 0.0
