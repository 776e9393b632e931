"""Whether the best of several actions is better than keep, though it was chosen for looking so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.significance import group_numbers

DRAWS = 2_000
_CHUNK_CELLS = 1_000_000


def chosen_action_test(
    gains: npt.NDArray[np.float64],
    chosen: int,
    *,
    groups: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """One-sided p-value of one column's mean, corrected for the choice among all columns.

    The largest of many means is above 0 by chance, cross-validated or not: where every fold prefers
    the same column, its held-out mean is that of all rows. So its t statistic is held against the
    largest one among all columns under random signs, one sign a query (or a group) for all columns
    together: the single-step maxT procedure of Westfall and Young (1993).

    Args:
        gains: Metric of every action less keep's, shape ``(n, m)``.
        chosen: The column that was chosen.
        groups: One name a query; every query stands for itself by default.
        draws: Sign patterns drawn; the one observed counts among them.
        seed: Seed of the draws.
    """
    index = group_numbers(groups, len(gains))
    sums = np.column_stack([np.bincount(index, weights=column) for column in gains.T])
    # Monotone in the t statistic, and finite where all values are equal.
    scale = np.sqrt((sums**2).sum(axis=0))
    if not scale[chosen]:
        return 1.0
    scale[scale == 0] = np.inf
    observed = sums[:, chosen].sum() / scale[chosen] - 1e-9
    rng = np.random.default_rng(seed)
    at_least, done = 0, 0
    while done < draws:
        size = min(draws - done, max(1, _CHUNK_CELLS // len(sums)))
        signs = 2.0 * rng.integers(0, 2, (size, len(sums)), dtype=np.int8) - 1.0
        largest = (signs @ sums / scale).max(axis=1)
        at_least += int((largest >= observed).sum())
        done += size
    return (at_least + 1) / (draws + 1)
