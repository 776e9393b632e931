"""Whom an arm helps and whom it hurts, as one who deploys it will see: with one of its policies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rl_rewriter.benchmark.arm_names import KEEP
from rl_rewriter.evaluation.held_out import HeldOut

_SAME = 1e-9


class Harm(NamedTuple):
    """Means over the seeds.

    Attributes:
        hurt_share: Queries on which an arm is below keep.
        helped_share: Queries on which it is above.
        worst_decile: Mean of the lowest tenth of the differences, of one query at least.
    """

    hurt_share: float
    helped_share: float
    worst_decile: float


def harm_of(held_out: HeldOut, arm: str) -> Harm:
    """The harm of an arm's policies, each looked at by itself.

    The mean of several policies hurts another set of queries than any of them: one bad policy of
    three would seem to hurt all that it touches, and none as badly as it does.
    """
    gains = held_out.by_seed(arm) - held_out.by_seed(KEEP)
    return Harm(float((gains < -_SAME).mean()), float((gains > _SAME).mean()), _worst_decile(gains))


def _worst_decile(gains: npt.NDArray[np.float64]) -> float:
    n_worst = max(1, gains.shape[1] // 10)
    return float(np.sort(gains, axis=1)[:, :n_worst].mean())
