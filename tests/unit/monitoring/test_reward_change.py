"""False alarms stay below their bound; falls and rises are found, with their time and size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.monitoring.reward_change import RewardChange, RewardDetector


def change_in(rewards: np.ndarray, *, level: float = 0.01, seed: int = 0) -> RewardChange | None:
    detector = RewardDetector(level=level, rng=np.random.default_rng(seed))
    detector.add(rewards, np.arange(len(rewards), dtype=np.float64))
    detector.finish()
    return detector.change()


def thumbs(*parts: tuple[int, float], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([(rng.random(n) < mean).astype(np.float64) for n, mean in parts])


@pytest.mark.parametrize("kind", ["thumbs", "heavy tails", "constant"])
def test_where_nothing_changes_alarms_stay_below_their_level(kind: str) -> None:
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rewards = {
            "thumbs": (rng.random(2000) < 0.5).astype(np.float64),
            "heavy tails": rng.standard_cauchy(2000),
            "constant": np.zeros(2000),
        }[kind]
        found = change_in(rewards, level=0.2, seed=1000 + seed)  # not those that made the rewards
        alarms += found is not None and found.is_certain
    assert alarms / 60 < 0.2


@pytest.mark.parametrize(("after", "sign"), [(0.4, -1), (0.8, 1)])
def test_a_change_is_found_with_its_time_and_size(after: float, sign: int) -> None:
    found = change_in(thumbs((3000, 0.6), (1500, after)))
    assert found is not None
    assert found.is_certain
    assert found.since == pytest.approx(3000, abs=200)
    assert found.before == pytest.approx(0.6, abs=0.03)
    assert found.after == pytest.approx(after, abs=0.06)
    assert math.copysign(1, found.size) == sign
    assert abs(found.size) == pytest.approx(0.2 / math.sqrt(0.24), abs=0.15)


def test_a_change_that_is_over_says_until_when_it_was_clearest() -> None:
    found = change_in(thumbs((3000, 0.6), (800, 0.2), (6000, 0.6)))
    assert found is not None
    assert found.is_certain
    assert found.until == pytest.approx(3800, abs=150)


def test_a_clear_change_of_a_long_stream_does_not_overflow() -> None:
    found = change_in(np.concatenate([np.zeros(20_000), np.ones(20_000)]))
    assert found is not None
    assert found.is_certain
    assert math.isfinite(found.log_evidence)
    assert (found.before, found.after) == (0.0, 1.0)
    assert found.size == 0.0  # nothing varied before, so there is no unit


@given(st.lists(st.floats(-1e300, 1e300), max_size=120), st.integers(1, 40))
@settings(max_examples=50)
def test_how_rewards_are_cut_into_calls_makes_no_difference(rewards: list[float], cut: int) -> None:
    values = np.asarray(rewards, dtype=np.float64)
    detector = RewardDetector(level=0.01, rng=np.random.default_rng(0))
    for start in range(0, len(values), cut):
        part = values[start : start + cut]
        detector.add(part, np.arange(start, start + len(part), dtype=np.float64))
    detector.finish()
    whole, cut_up = change_in(values), detector.change()
    assert (whole is None) == (cut_up is None)
    if whole is not None and cut_up is not None:
        assert whole.log_evidence == cut_up.log_evidence


def test_a_copy_goes_its_own_way() -> None:
    detector = RewardDetector(level=0.01, rng=np.random.default_rng(0))
    detector.add(thumbs((1000, 0.6)), np.arange(1000.0))
    other = detector.copy()
    other.add(np.zeros(1000), np.arange(1000.0))
    assert detector.n == 1000
    assert other.n == 2000
