"""A gate is as open as the limit allows, and no further."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.training.blend.gate import Gated, fit_gate, share_moved
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.hurt import likely
from tests.unit.training.blend.parts import judge_of, world

N = 400
FOLDS = group_folds([f"g{row}" for row in range(N)], 5, 0)


def drawn(seed: int, *, told: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, gains of which the first column tells a part, and what moves: noise."""
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((N, 3)).astype(np.float32)
    gains = told * states[:, 0] + 0.1 * rng.standard_normal(N)
    return states, gains, rng.random(N)


def gated(
    states: np.ndarray, gains: np.ndarray, moved: np.ndarray, limit: float
) -> tuple[Gated | None, float]:
    """The gate and the mean gain of what it lets through."""
    found = fit_gate(states, gains, gains < 0, moved, FOLDS, limit)
    return found, 0.0 if found is None else float(np.where(found.is_open, gains, 0.0).mean())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    told=st.floats(-0.2, 0.2),
    limit=st.sampled_from([0.0, 0.01, 0.03, 0.06, 0.1, 0.3]),
    is_discrete=st.booleans(),
)
def test_whatever_it_lets_through_holds_the_limit_and_gains(
    seed: int, told: float, limit: float, is_discrete: bool
) -> None:
    states, gains, moved = drawn(seed, told=told)
    if is_discrete:  # many equal predictions
        states = np.sign(states)
    found, gain = gated(states, gains, moved, limit)
    if found is None:
        return
    hurt = float((found.is_open & (gains < 0)).mean())
    assert likely(hurt, FOLDS.n_groups) <= limit
    assert gain > 0.0
    assert 0 < found.is_open.sum() < N


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), told=st.floats(0.0, 0.2))
def test_a_looser_limit_never_gains_less(seed: int, told: float) -> None:
    world_ = drawn(seed, told=told)
    gains = [gated(*world_, limit)[1] for limit in (0.0, 0.02, 0.05, 0.1, 0.2)]
    assert gains == sorted(gains)


def test_whom_it_lets_through_is_said_by_fits_that_have_not_seen_them() -> None:
    """A fit of many columns explains noise that it has seen, and would let the lucky ones in."""
    rng = np.random.default_rng(0)
    states = rng.standard_normal((N, 60)).astype(np.float32)
    gains = 0.03 * states[:, 0] + 0.1 * rng.standard_normal(N)
    found, gain = gated(states, gains, np.zeros(N), 0.2)
    assert found is not None
    best = np.argsort(-found.gate.advantage(states))[: found.is_open.sum()]
    assert gain < 0.7 * gains[best].sum() / N


def test_the_predicted_advantage_is_calibrated_on_fresh_queries() -> None:
    slopes, hurt = [], []
    for seed in range(8):
        found, _ = gated(*drawn(seed, told=0.1), 0.06)
        assert found is not None
        states, gains, _ = drawn(seed + 100, told=0.1)
        told = found.gate.advantage(states)
        slopes.append(np.polyfit(told, gains, 1)[0])
        hurt.append((found.gate.is_open(states) & (gains < 0)).mean())
        assert told.mean() == pytest.approx(gains.mean(), abs=0.03)
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.1)
    assert np.mean(hurt) <= 0.06


def test_what_moves_most_is_taken_where_that_tells_more_than_gains_do() -> None:
    """Gains too noisy to regress on, which grow with what a blend changes."""
    rng = np.random.default_rng(3)
    states = rng.standard_normal((N, 3)).astype(np.float32)
    moved = states[:, 1] + 0.1 * rng.standard_normal(N)
    gains = np.where(moved > 0, 0.02, 0.0) - np.where((moved < 0) & (rng.random(N) < 0.5), 0.02, 0)
    gains[rng.random(N) < 0.05] = 0.8  # says nothing, and drowns the rest
    found, gain = gated(states, gains, moved, 0.06)
    alone, gain_alone = gated(states, gains, np.zeros(N), 0.06)
    assert found is not None
    assert np.abs(found.gate.weights).argmax() == 1
    assert gain > gain_alone
    assert alone is None or not np.array_equal(alone.is_open, found.is_open)


def test_states_that_tell_nothing_give_no_gate() -> None:
    states, gains, _ = drawn(0, told=0.1)
    assert gated(np.zeros_like(states), gains, np.zeros(N), 0.06)[0] is None


def test_the_share_of_first_documents_that_move() -> None:
    pools = world(20).pools
    judge = judge_of(pools)
    keep = np.tile(np.eye(4, dtype=np.float32)[0], (20, 1))
    assert not share_moved(judge, keep).any()
    left = np.tile(np.eye(4, dtype=np.float32)[1], (20, 1))
    rows = np.arange(20)
    own, other = judge.first(rows, keep), judge.first(rows, left)
    expected = [
        1 - len(set(a) & set(b)) / 10 for a, b in zip(own.tolist(), other.tolist(), strict=True)
    ]
    assert share_moved(judge, left) == pytest.approx(np.asarray(expected))
    few = replace(judge, metric=replace(judge.metric, depth=50))  # more than a pool holds
    assert not share_moved(few, left).any()
