"""The bootstrap of estimates that are sums of means and ratios."""

from __future__ import annotations

import math

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.intervals import Interval
from rl_rewriter.evaluation.off_policy.sample import Index, Table, Values

DRAWS = 1000
MOST_UNITS = 10_000
_CHUNK_CELLS = 50_000
"""Counted at a time: few enough to stay in the processor's cache."""


def bootstrap(
    contributions: Contributions,
    groups: Index | None = None,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Percentile interval over resampled records or groups (Efron 1979).

    Numerator and weights of a ratio are resampled together. More than ``MOST_UNITS`` records or
    groups are resampled in blocks of consecutive ones: the interval is the same but for a relative
    error of ``1 / sqrt(2 MOST_UNITS)``, and takes as long for a million records as for 10,000.

    Args:
        contributions: The estimate.
        groups: One number a record, ``(n,)``, for records that are no independent evidence.
        level: Coverage.
        draws: Resamples.
        seed: Seed of the resamples.

    Returns:
        The interval; infinite where some resample has no weight at all, so that a ratio has no
        value there.

    Raises:
        InputError: There are fewer than two records or groups.
    """
    sums = _resampled(_units(contributions, groups), draws, np.random.default_rng(seed))
    values, column = np.zeros(draws), 1
    for part in contributions.parts:
        if part.weights is None:
            values += sums[:, column] / sums[:, 0]
        else:
            if not sums[:, column + 1].all():
                return -math.inf, math.inf
            values += sums[:, column] / sums[:, column + 1]
        column += 1 + (part.weights is not None)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(values, [tail, 100.0 - tail])
    return float(low), float(high)


def _units(contributions: Contributions, groups: Index | None) -> Table:
    """For each unit the number of its records and the sums of all parts, ``(u, 1 + columns)``."""
    arrays = [
        array
        for part in contributions.parts
        for array in (part.numerator, part.weights)
        if array is not None
    ]
    n = len(contributions)
    units = np.arange(n) if groups is None else groups
    count = int(units.max()) + 1
    if count < 2:
        raise InputError(f"an interval needs at least two independent records, got {count}")
    if groups is None and count <= MOST_UNITS:
        return np.column_stack([np.ones(n), *arrays])
    if count > MOST_UNITS:
        units, count = units * MOST_UNITS // count, MOST_UNITS
    return np.column_stack(
        [np.bincount(units, minlength=count), *(_sums(units, a, count) for a in arrays)]
    )


def _sums(units: Index, values: Values, count: int) -> Values:
    return np.bincount(units, weights=values, minlength=count).astype(np.float64)


def _resampled(units: Table, draws: int, rng: np.random.Generator) -> Table:
    """Sums over as many units as there are, drawn with replacement, ``(draws, columns)``."""
    count = len(units)
    sums = np.empty((draws, units.shape[1]))
    step = max(1, _CHUNK_CELLS // count)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        drawn = rng.integers(0, count, (size, count)) + np.arange(size)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        sums[start : start + size] = times.astype(np.float64) @ units
    return sums
