"""How far from keep a blend may go where only so many queries may fall below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.objective import Judge, keep_weights
from rl_rewriter.types import Matrix

_STRENGTHS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Cautious:
    """A blend mixed with keep.

    Attributes:
        strength: Share of the blend; 0 where no share hurts few enough.
        values: Cross-fitted values with it, ``(n,)``.
        hurt: Share of queries below keep.
    """

    strength: float
    values: Values
    hurt: float


def with_caution(judge: Judge, weights: Matrix, keep: Values, limit: float | None) -> Cautious:
    """The strongest share of a blend that hurts no more queries than allowed.

    Weights become ``(1 - s) keep + s weights``.

    Args:
        judge: Tells values.
        weights: Cross-fitted weights, ``(n, v)``.
        keep: Values of keep, ``(n,)``.
        limit: Largest share of queries below keep; None for no limit.
    """
    rows = np.arange(len(weights))
    alone = keep_weights(*weights.shape)
    for strength in _STRENGTHS:
        values = judge.values(rows, (1.0 - strength) * alone + strength * weights)
        hurt = hurt_share(values, keep)
        if limit is None or hurt <= limit:
            return Cautious(strength, values, hurt)
    return Cautious(0.0, keep, 0.0)


def hurt_share(values: Values, keep: Values) -> float:
    """Share of queries below keep."""
    return float((values < keep - _SAME).mean())
