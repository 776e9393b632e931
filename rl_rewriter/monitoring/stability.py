"""Population stability of one column, beside what chance alone would make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.monitoring.chi_square import survival

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

BINS = 10
_LEAST_EXPECTED = 5.0
"""Records that a bin should hold on the smaller side for chi-square to be near (Cochran, 1954)."""
_RECORDS_A_BIN = 10


@dataclass(frozen=True)
class Stability:
    """How far one column moved between two sets of records.

    Attributes:
        psi: Population stability index.
        by_chance: Its expectation where nothing changed.
        p_value: Chance of as much where nothing changed.
    """

    psi: float
    by_chance: float
    p_value: float

    @property
    def size(self) -> float:
        """What of the index chance doesn't explain, at least 0."""
        return max(0.0, self.psi - self.by_chance)


NO_SHIFT = Stability(0.0, 0.0, 1.0)


def population_stability(reference: Values, recent: Values) -> float:
    """``PSI = sum_b (q_b - p_b) ln(q_b / p_b)`` (Siddiqi, Credit Risk Scorecards, 2006).

    Half a record is added to each bin of both sides, so that an empty one has a logarithm.

    Args:
        reference: Records in each bin, ``(b,)``.
        recent: Likewise, ``(b,)``.
    """
    before = (reference + 0.5) / (reference.sum() + 0.5 * len(reference))
    now = (recent + 0.5) / (recent.sum() + 0.5 * len(recent))
    return float(((now - before) * np.log(now / before)).sum())


def stability(codes: Codes, n_reference: int, groups: Codes) -> Stability:
    """Compare the bins of ``n`` reference records with those of ``m`` recent ones.

    Where nothing changed, ``PSI`` is distributed as ``(1/n + 1/m)`` times a chi-square variable of
    ``b - 1`` degrees of freedom (Yurdakul and Naranjo, Statistical properties of the population
    stability index, 2020), so it is large by chance where records are few. The p-value is that of
    Pearson's statistic, to which ``PSI / (1/n + 1/m)`` tends and which is nearer to chi-square in
    small bins. Records of one conversation are alike, which makes chance larger: both are corrected
    by the design effects of the bins, their mean and their spread (Rao and Scott, 1984, with
    Satterthwaite's degrees of freedom).

    Args:
        codes: Bin of each record, the reference first, ``(n + m,)``; bins that are nearly empty are
            taken together.
        n_reference: ``n``.
        groups: Number of each record's conversation, ``(n + m,)``.
    """
    codes = _merged(codes, min(n_reference, len(codes) - n_reference))
    n_bins, n_recent = int(codes.max()) + 1, len(codes) - n_reference
    if n_bins < 2:
        return NO_SHIFT
    before = np.bincount(codes[:n_reference], minlength=n_bins).astype(np.float64)
    now = np.bincount(codes[n_reference:], minlength=n_bins).astype(np.float64)
    noise = 1.0 / n_reference + 1.0 / n_recent
    total, squares = _design_effects(codes, groups, n_bins)
    pooled = (before + now) / len(codes)
    difference = now / n_recent - before / n_reference
    pearson = float((difference**2 / pooled).sum()) / noise
    return Stability(
        population_stability(before, now),
        total * noise,
        survival(pearson * total / squares, total**2 / squares),
    )


def bins_of(reference: Values, recent: Values, bins: int = BINS) -> Codes:
    """Bin of each value, the reference first, ``(n + m,)``.

    Few distinct values have a bin each, and those that the reference doesn't know one together;
    others are divided at quantiles of the reference. NaN and infinity have a bin of their own.

    Args:
        reference: Shape ``(n,)``.
        recent: Shape ``(m,)``.
        bins: Most quantile bins; there are fewer where records are few.
    """
    values = np.concatenate([reference, recent]).astype(np.float64)
    known = reference[np.isfinite(reference)].astype(np.float64)
    bins = max(2, min(bins, min(len(reference), len(recent)) // _RECORDS_A_BIN))
    distinct = np.unique(known)
    if len(distinct) <= bins:
        place = np.searchsorted(distinct, values).clip(max=max(0, len(distinct) - 1))
        is_known = values == distinct[place] if len(distinct) else np.zeros(len(values), dtype=bool)
        codes = np.where(is_known, place, len(distinct))
        other = len(distinct) + 1
    else:
        edges = np.unique(np.quantile(known, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
        codes = np.searchsorted(edges, values, side="left")
        other = len(edges) + 1
    return np.where(np.isfinite(values), codes, other).astype(np.intp)


def _merged(codes: Codes, smaller_side: int) -> Codes:
    """The same bins without gaps, the rarest of them taken together until they hold enough."""
    _, codes, counts = np.unique(codes, return_inverse=True, return_counts=True)
    enough = _LEAST_EXPECTED * len(codes) / max(1, smaller_side)
    order = np.argsort(counts, kind="stable")
    n_rare = int(np.searchsorted(counts[order].cumsum(), enough)) + 1
    place = np.empty(len(counts), dtype=np.intp)
    place[order] = np.maximum(np.arange(len(counts)) - (n_rare - 1), 0)
    return place[codes.reshape(-1)]


def _design_effects(codes: Codes, groups: Codes, n_bins: int) -> tuple[float, float]:
    """Sum and sum of squares of the ``b - 1`` design effects; all are 1 for independent records.

    They are the eigenvalues of the bins' covariance over that of independent records.
    """
    sizes = np.bincount(groups)
    if sizes.max() <= 1:
        return n_bins - 1.0, n_bins - 1.0
    share = np.bincount(codes, minlength=n_bins) / len(codes)
    inside = np.bincount(groups * n_bins + codes, minlength=len(sizes) * n_bins)
    deviations = inside.reshape(len(sizes), n_bins) - sizes[:, None] * share
    scaled = deviations / np.sqrt(len(codes) * share)
    covariance = scaled.T @ scaled
    total = float(np.trace(covariance))
    least = max(1.0, (n_bins - 1.0) / total) if total > 0.0 else 1.0
    return max(total * least, 1e-9), max(float((covariance**2).sum()) * least**2, 1e-9)
