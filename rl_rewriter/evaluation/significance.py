"""Paired tests and intervals over queries, or over groups of queries that belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.logs.columns import numbered

Values = npt.NDArray[np.float64]
DRAWS = 10_000
EXACT_UP_TO = 13
"""Up to this number of pairs all sign patterns are enumerated instead of drawn."""
_CHUNK_CELLS = 1_000_000
"""Numbers drawn at a time: few enough to stay in the processor's cache."""


def randomisation_test(
    differences: Values,
    *,
    groups: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """Two-sided paired randomisation test of a zero mean (Smucker et al., CIKM 2007).

    Under the null hypothesis a pair's sign is a coin toss. All sign patterns are enumerated where
    there are few pairs, else ``draws`` are drawn and the observed one counts among them, so that
    p is never 0. Queries of one group (paraphrases of one need, say) change sign together.

    Args:
        differences: Value of one system minus the other on each query, shape ``(n,)``.
        groups: One name a query; every query stands for itself by default.
        draws: Sign patterns drawn.
        seed: Seed of the draws.

    Returns:
        The p-value.

    Raises:
        InputError: There are no differences, or one isn't finite.
    """
    sums, _ = by_group(checked(differences), groups)
    sums = sums[sums != 0]
    observed = abs(sums.sum())
    # Sums that are equal on paper differ by rounding, which grows with what is summed.
    at_least_observed = observed - 1e-12 * np.abs(sums).sum()
    if len(sums) <= EXACT_UP_TO:
        patterns = (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums))) & 1
        return float((np.abs((2 * patterns - 1) @ sums) >= at_least_observed).mean())
    rng = np.random.default_rng(seed)
    at_least, done = 0, 0
    while done < draws:
        size = min(draws - done, max(1, _CHUNK_CELLS // len(sums)))
        signs = 2.0 * rng.integers(0, 2, (size, len(sums)), dtype=np.int8) - 1.0
        at_least += int((np.abs(signs @ sums) >= at_least_observed).sum())
        done += size
    return (at_least + 1) / (draws + 1)


def t_test(differences: Values, *, groups: Sequence[str] | None = None) -> float:
    """Two-sided paired t-test of a zero mean (Student, 1908).

    ``t = mean / (sd / sqrt(n))`` with ``n - 1`` degrees of freedom. Where queries come in groups,
    the values are the groups' sums, as in the randomisation test, and ``n`` is their number: unlike
    a test of the mean over queries with cluster-robust errors it stays at its level where few
    groups hold most of the queries.

    Args:
        differences: Value of one system minus the other on each query, shape ``(n,)``.
        groups: One name a query; every query stands for itself by default.

    Returns:
        The p-value; 1 where it isn't defined: one query or group, or no difference anywhere.

    Raises:
        InputError: There are no differences, or one isn't finite.
        MissingExtraError: scipy isn't installed.
    """
    try:
        from scipy.special import stdtr
    except ImportError as error:
        raise MissingExtraError("scipy", "train") from error
    sums, _ = by_group(checked(differences), groups)
    freedom = len(sums) - 1
    if freedom < 1 or not sums.any():
        return 1.0
    error_of_mean = sums.std(ddof=1) / np.sqrt(len(sums))
    if error_of_mean == 0.0:
        return 0.0
    return float(2.0 * stdtr(freedom, -abs(sums.mean()) / error_of_mean))


def bootstrap_interval(
    values: Values,
    *,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean (Efron, 1979), resampling whole groups.

    Args:
        values: One value a query, shape ``(n,)``; differences for a paired interval.
        groups: One name a query; every query stands for itself by default.
        level: Coverage.
        draws: Resamples.
        seed: Seed of the resamples.

    Raises:
        InputError: There are no values, or one isn't finite.
    """
    sums, counts = by_group(checked(values), groups)
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    chunk = max(1, _CHUNK_CELLS // len(sums))
    for start in range(0, draws, chunk):
        rows = rng.integers(0, len(sums), (min(chunk, draws - start), len(sums)))
        means[start : start + len(rows)] = sums[rows].sum(axis=1) / counts[rows].sum(axis=1)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(means, [tail, 100.0 - tail])
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down corrected p-values (Holm, 1979), in the order given."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    running = 0.0
    for rank, position in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[position]))
        corrected[position] = running
    return [float(p) for p in corrected]


def checked(values: Values) -> Values:
    """The values as an array ``(n,)`` of finite numbers.

    Raises:
        InputError: They are none, or one isn't finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise InputError(f"a comparison needs at least one query, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError("a comparison got NaN or infinite values")
    return array


def by_group(values: Values, groups: Sequence[str] | None) -> tuple[Values, Values]:
    """Sum and number of the values of each group, ``(g,)`` both.

    Raises:
        InputError: There isn't one group a value.
    """
    if groups is None:
        return values, np.ones(len(values))
    index = group_numbers(groups, len(values))
    sums = np.bincount(index, weights=values).astype(np.float64)
    return sums, np.bincount(index).astype(np.float64)


def group_numbers(groups: Sequence[str] | None, n: int) -> npt.NDArray[np.intp]:
    """The number of each query's group, ``(n,)``, from 0; every query is one where none are named.

    Raises:
        InputError: There isn't one group a query.
    """
    if groups is None:
        return np.arange(n)
    if len(groups) != n:
        raise InputError(f"got {len(groups)} groups for {n} queries")
    return numbered(groups)
