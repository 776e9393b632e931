"""What the per-query best owes to chance, and what is left of it without."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.significance import Values

Correction = Literal["half_judgements", "simulation"]
Table = npt.NDArray[np.float64]

FEW_HALVED = 30
"""Below this number of queries with halved judgements, the share is a guess."""
_TIE = 1e-9


def noise_gain(values: Table) -> float:
    """What chance alone would hand to the per-query best.

    Gains over keep, less their mean for each action, are taken as pure noise: a fair coin turns the
    sign of all gains of a query together, which keeps their spread and their correlation. The mean
    of the best positive gain under these coins, here over both sides of each coin, is what chance
    alone hands to the per-query best. It is an upper bound of the noise, since real differences
    between queries are in the spread too.

    Args:
        values: Metric of every action on every query, ``(n, m)``, keep first.
    """
    gains = values - values[:, :1]
    spread = gains - gains.mean(axis=0, keepdims=True)
    spread[:, 0] = 0.0
    return float((spread.max(axis=1) + (-spread).max(axis=1)).mean() / 2.0)


def retained_share(halves: npt.NDArray[np.float64], fixed: npt.NDArray[np.intp]) -> float:
    """Part of the gap from the single action to the per-query best that isn't chance.

    The best action by one half of a query's judgements is scored by the other half, which had no
    part in the choice: ``s = (chosen - fixed) / (best - fixed)``, sums over queries, repeats and
    both directions. Where actions tie, the single action is chosen if it is among them, else each
    of them with equal weight. Half the judgements choose worse than all of them would:
    ``2 s / (1 + s)`` is what all would retain (Spearman, 1910; Brown, 1910).

    Args:
        halves: Metric of every action by each half, ``(r, 2, n, m)``: ``r`` random divisions.
        fixed: The single action of each query, ``(n,)``.

    Returns:
        A share from 0 to 1.
    """
    chosen, best = 0.0, 0.0
    rows = np.arange(halves.shape[2])
    for repeat in halves:
        for choosing, scoring in (repeat, repeat[::-1]):
            top = choosing >= choosing.max(axis=1, keepdims=True) - _TIE
            by_fixed = scoring[rows, fixed]
            by_top = np.where(top[rows, fixed], by_fixed, _mean_where(scoring, top))
            chosen += float((by_top - by_fixed).sum())
            best += float((scoring.max(axis=1) - by_fixed).sum())
    share = min(1.0, max(0.0, chosen / best)) if best > 0 else 0.0
    return 2.0 * share / (1.0 + share)


def corrected_best(
    values: Table, fixed: npt.NDArray[np.intp], halves: npt.NDArray[np.float64] | None
) -> tuple[float, Correction]:
    """The mean of the per-query best without what it owes to chance: a low estimate.

    Args:
        values: Metric of every action on every query, ``(n, m)``, keep first.
        fixed: The single action of each query, ``(n,)``.
        halves: The same metric by halves of the judgements, ``(r, 2, n, m)``; NaN for queries
            whose judgements can't be halved. Used where at least half of the queries, and 30, can.

    Returns:
        The estimate, and what it was made by.
    """
    best = float(values.max(axis=1).mean())
    if halves is not None and halves.size:
        halved = np.isfinite(halves).all(axis=(0, 1, 3))
        if halved.sum() >= max(FEW_HALVED, len(values) / 2):
            level = float(values[np.arange(len(values)), fixed].mean())
            share = retained_share(halves[:, :, halved], fixed[halved])
            return level + share * (best - level), "half_judgements"
    return best - noise_gain(values), "simulation"


def _mean_where(values: Table, mask: npt.NDArray[np.bool_]) -> Values:
    return np.asarray((values * mask).sum(axis=1) / mask.sum(axis=1))
