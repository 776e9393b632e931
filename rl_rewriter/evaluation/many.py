"""Many systems on the same queries: the draws of tests and intervals are shared among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.comparison import Comparison, described
from rl_rewriter.evaluation.significance import (
    DRAWS,
    EXACT_UP_TO,
    Values,
    group_numbers,
    randomisation_test,
)

Systems = npt.NDArray[np.float64]
"""Shape ``(a, n)``: one row a system, one column a query."""
_CHUNK_CELLS = 1_000_000


def compare_many(
    systems: Systems,
    baseline: Values,
    *,
    groups: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Comparison]:
    """Compare each of ``a`` systems with a baseline, as :func:`compare` does one of them.

    Args:
        systems: Per-query values, ``(a, n)``.
        baseline: Those of the baseline, ``(n,)``.
        groups: One name a query where queries belong together.
        draws: Sign patterns and resamples drawn.
        seed: Seed of the draws.
    """
    differences = np.asarray(systems, dtype=np.float64) - baseline
    p_values = sign_tests(differences, groups=groups, draws=draws, seed=seed)
    ends = intervals(differences, groups=groups, draws=draws, seed=seed)
    return [
        described(row, p_value=p_value, ci95=(low, high), groups=groups)
        for row, p_value, (low, high) in zip(differences, p_values, ends.tolist(), strict=True)
    ]


def sign_tests(
    differences: Systems,
    *,
    groups: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[float]:
    """Paired randomisation tests of a zero mean, one a row of ``(a, n)``.

    Where few groups differ the exact p-value is computed, as :func:`randomisation_test` does.
    """
    sums, _ = _grouped(differences, groups)
    at_least = _count_at_least(sums, draws, seed)
    few = (sums != 0).sum(axis=1) <= EXACT_UP_TO
    return [
        randomisation_test(row) if is_few else float((count + 1) / (draws + 1))
        for row, count, is_few in zip(sums, at_least, few, strict=True)
    ]


def intervals(
    values: Systems,
    *,
    groups: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> npt.NDArray[np.float64]:
    """Percentile bootstrap 95% intervals of the means, ``(a, 2)``, resampling whole groups.

    Args:
        values: One row a system, ``(a, n)``.
        groups: One name a query where queries belong together.
        draws: Resamples.
        seed: Seed of the resamples.
    """
    sums, counts = _grouped(values, groups)
    n_groups = len(counts)
    rng = np.random.default_rng(seed)
    means = np.empty((draws, len(sums)))
    chunk = max(1, _CHUNK_CELLS // n_groups)
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        drawn = rng.integers(0, n_groups, (size, n_groups))
        cells = (drawn + n_groups * np.arange(size)[:, None]).ravel()
        times = np.bincount(cells, minlength=size * n_groups).reshape(size, n_groups)
        means[start : start + size] = (times @ sums.T) / (times @ counts)[:, None]
    return np.asarray(np.percentile(means, [2.5, 97.5], axis=0).T)


def _count_at_least(sums: Systems, draws: int, seed: int) -> npt.NDArray[np.int64]:
    """How often the sum under random signs is at least as far from 0 as the one observed."""
    rng = np.random.default_rng(seed)
    observed = np.abs(sums.sum(axis=1)) - 1e-12 * np.abs(sums).sum(axis=1)
    at_least = np.zeros(len(sums), dtype=np.int64)
    done = 0
    while done < draws:
        size = min(draws - done, max(1, _CHUNK_CELLS // sums.shape[1]))
        signs = 2.0 * rng.integers(0, 2, (size, sums.shape[1]), dtype=np.int8) - 1.0
        at_least += (np.abs(signs @ sums.T) >= observed).sum(axis=0)
        done += size
    return at_least


def _grouped(values: Systems, groups: Sequence[str] | None) -> tuple[Systems, Values]:
    """Sums of each system over each group, ``(a, g)``, and the groups' sizes, ``(g,)``."""
    index = group_numbers(groups, values.shape[1])
    sums = np.stack([np.bincount(index, weights=row).astype(np.float64) for row in values])
    return sums, np.bincount(index).astype(np.float64)
