"""Recent states against the mean and spread of those that a policy was trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rl_rewriter.logs.columns import numbered
from rl_rewriter.monitoring.chi_square import survival
from rl_rewriter.monitoring.seen import Seen
from rl_rewriter.monitoring.shifts import Shift, corrected, states_of
from rl_rewriter.monitoring.stability import Stability
from rl_rewriter.policies.checkpoint import Checkpoint

Values = npt.NDArray[np.float64]

_NEVER_VARIED = 1e11
"""Scales above this stand for columns that were constant in training."""
_MOST_PSI = 10.0


def shifts_from_training(
    checkpoint: Checkpoint, recent: Sequence[Seen]
) -> tuple[list[Shift], tuple[str, ...]]:
    """Compare recent states with what the policy's checkpoint knows of those it learned from.

    That is a mean and a standard deviation a column. The index of two normal distributions of equal
    spread is ``((mean_now - mean_then) / scale)^2`` (the symmetrised Kullback-Leibler divergence,
    which PSI is in bins), so shifts of the mean come on the same scale. The p-value is that of the
    mean, with a variance over conversations.

    Args:
        checkpoint: The policy.
        recent: What it is like.

    Returns:
        The shifts, the largest first, and what couldn't be compared.
    """
    features = checkpoint.features
    states, having = states_of(recent, features.fingerprint)
    if features.mean is None or features.scale is None or not len(having):
        return [], (
            "no recent decision has a state of the policy's features: it couldn't be compared",
        )
    groups = numbered([recent[row].group for row in having.tolist()])
    n_then = _n_trained(checkpoint)
    shifts = [
        _shift(name, states[:, place], (mean, scale), groups, n_then)
        for place, (name, mean, scale) in enumerate(
            zip(features.columns, features.mean.tolist(), features.scale.tolist(), strict=True)
        )
    ]
    return corrected(shifts), ()


def _shift(
    name: str,
    now: Values,
    then: tuple[float, float],
    groups: npt.NDArray[np.intp],
    n_then: float,
) -> Shift:
    mean, scale = then
    here = float(now.mean())
    if scale > _NEVER_VARIED:
        return Shift(name, _of_constant(now, mean, groups), means=(mean, here))
    sums = np.bincount(groups, weights=now - here)
    error = float(np.square(sums).sum()) / len(now) ** 2 + scale**2 / n_then
    size = min(_MOST_PSI, ((here - mean) / scale) ** 2)
    p_value = survival((here - mean) ** 2 / error, 1) if error > 0.0 else float(here == mean)
    return Shift(name, Stability(size, error / scale**2, p_value), means=(mean, here))


def _of_constant(now: Values, mean: float, groups: npt.NDArray[np.intp]) -> Stability:
    """A column that was constant: what share has another value, with a p-value of 0 for many."""
    differs = np.abs(now - mean) > 1e-6 * max(1.0, abs(mean))
    share = float(differs.mean())
    conversations = len(np.unique(groups[differs]))
    size = min(_MOST_PSI, share * math.log((share + 0.001) / 0.001))
    return Stability(size, 0.0, math.exp(-float(conversations)))


def _n_trained(checkpoint: Checkpoint) -> float:
    """Records that the statistics are of; infinite where the checkpoint doesn't say."""
    for name in ("n_train", "n_records"):
        found = checkpoint.training.get(name)
        if isinstance(found, int | float) and found > 0:
            return float(found)
    return math.inf
