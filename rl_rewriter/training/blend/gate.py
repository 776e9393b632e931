"""Fits where a blend is served: the largest gain with so few queries below keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.actions.blend_gate import BlendGate
from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.objective import Judge, keep_weights
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import Flags, likely
from rl_rewriter.types import Matrix

_PENALTY = 100.0
"""Of the squared weights, beside sums of squares: as if a hundred queries said that no column tells
anything."""


@dataclass(frozen=True, eq=False)
class Gated:
    """A gate, and whom it lets through.

    Attributes:
        gate: Fitted to all queries.
        is_open: Where the blend is served, by gates that haven't seen the query's group, ``(n,)``.
    """

    gate: BlendGate
    is_open: Flags


def fit_gate(
    states: Matrix,
    gains: Values,
    is_hurt: Flags,
    moved: Values,
    folds: GroupFolds,
    limit: float,
) -> Gated | None:
    """The gate with the largest cross-fitted gain whose hurt share is within the limit.

    Two predictions are tried: of the gain itself, and of how much a blend changes what is found,
    which says where much is at stake and is learned from fewer queries, since it depends on no
    judgement. Either becomes a predicted gain by regressing gains on its cross-fitted values, and
    counts where the slope is above a standard error.

    Args:
        states: Standardised states, ``(n, s)``.
        gains: Cross-fitted gains of the blend over keep, prices paid, ``(n,)``.
        is_hurt: Which queries it puts below keep, ``(n,)``.
        moved: Share of the first documents that the blend replaces, ``(n,)``.
        folds: The division; a query is let through by predictions that haven't seen its group.
        limit: Largest share of all queries that may fall below keep.

    Returns:
        The gate; None where none that gains anything holds the limit.
    """
    best: Gated | None = None
    most = 0.0
    for target in (gains, moved):
        told = np.zeros(len(gains))
        for rows, held_out in folds.parts():
            told[held_out] = states[held_out] @ _fitted(states[rows], target[rows])
        offset, slope, error = _regressed(gains, told, folds)
        if slope <= error:
            continue  # it doesn't clearly tell an advantage
        advantage = offset + slope * told
        least, gain = _bound(advantage, gains, is_hurt, folds.n_groups, limit)
        if gain > most:
            weights = (slope * _fitted(states, target)).astype(np.float32)
            gate = BlendGate(weights, offset, least)
            best, most = Gated(gate, advantage > least), gain
    return best


def share_moved(judge: Judge, weights: Matrix) -> Values:
    """Share of keep's first documents that are replaced by weights ``(n, v)``, ``(n,)``."""
    rows = np.arange(len(weights))
    ours = judge.first(rows, weights)
    own = judge.first(rows, keep_weights(*weights.shape))
    stay = (ours[:, :, None] == own[:, None, :]).any(axis=1)
    return np.asarray(1.0 - stay.mean(axis=1))


def _bound(
    advantage: Values, gains: Values, is_hurt: Flags, n_groups: int, limit: float
) -> tuple[float, float]:
    """Halfway between two queries, where the gain is largest within the limit, and that gain."""
    order = np.argsort(-advantage, kind="stable")
    highest = advantage[order]
    hurt = np.cumsum(is_hurt[order]) / len(gains)
    gain = np.cumsum(gains[order]) / len(gains)
    halfway = (highest[:-1] + highest[1:]) / 2.0
    is_between = (highest[:-1] > halfway) & (halfway >= highest[1:])
    holds = is_between & (likely(hurt, n_groups)[:-1] <= limit)
    if not holds.any():
        return np.inf, 0.0
    best = int(np.where(holds, gain[:-1], -np.inf).argmax())
    return float(halfway[best]), float(gain[best])


def _fitted(states: Matrix, target: Values) -> Values:
    """Weights ``(s,)`` of a ridge regression; its constant, which differs by fold, is left out."""
    off = states - states.mean(axis=0, dtype=np.float64)
    squares = off.T @ off + _PENALTY * np.eye(off.shape[1])
    return np.asarray(np.linalg.solve(squares, off.T @ (target - target.mean())))


def _regressed(gains: Values, told: Values, folds: GroupFolds) -> tuple[float, float, float]:
    """Offset and slope of gains on what was told, and the slope's standard error."""
    mean, spread = float(gains.mean()), float(told.var())
    if spread <= 0.0:
        return mean, 0.0, 0.0
    off = told - told.mean()
    slope = float((off * gains).mean()) / spread
    error = folds.standard_error(off * (gains - mean - slope * off) / spread)
    return mean - slope * float(told.mean()), slope, error
