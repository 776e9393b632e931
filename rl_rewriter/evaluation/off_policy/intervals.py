"""How far an estimate may be off: Student-t and empirical Bernstein intervals.

Student-t is the default. On simulated logs it covers the true value about as often as it says,
whichever way was logged (``benchmarks/ope_coverage.py``), where the percentile bootstrap covers the
less often the fewer records carry the weight, and Bernstein's bound, which holds for any number of
records, is several times as wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.sample import Index

Interval = tuple[float, float]
_ROUNDING = 1e-12
"""Differences that are 0 on paper, relative to values of 1 and above."""


@dataclass(frozen=True)
class StudentT:
    """An estimate with its standard error, from which intervals and p-values follow.

    Attributes:
        value: The estimate.
        error: Its standard error; infinite where a single record carries all the weight.
        freedom: Degrees of freedom of the standard error.
    """

    value: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> Interval:
        """Two-sided interval ``value -+ t error``."""
        reach = self._reach(0.5 + level / 2.0)
        return self.value - reach, self.value + reach

    def lower_bound(self, level: float = 0.95) -> float:
        """One-sided bound: the true value lies above it with probability ``level``."""
        return self.value - self._reach(level)

    def p_above(self, threshold: float) -> float:
        """One-sided p-value of the hypothesis that the true value is at most ``threshold``."""
        if self.error <= _ROUNDING * max(1.0, abs(self.value)):
            return 0.0 if self.value > threshold + _ROUNDING else 1.0
        return t_tail(self.freedom, (self.value - threshold) / self.error)

    def _reach(self, probability: float) -> float:
        return self.error * t_quantile(self.freedom, probability) if self.error else 0.0


def student_t(contributions: Contributions, groups: Index | None = None) -> StudentT:
    """Standard error of the linearised estimate, over groups (Liang and Zeger 1986).

    ``error^2 = var(deviations) / g`` over ``g`` groups, each record being one by default.

    A mean has ``g - 1`` degrees of freedom. A self-normalised estimate is centred on the few
    records that carry weight, and its error is known as badly as theirs: it has those of a sample
    variance, ``2 g / (kurtosis - (g - 3) / (g - 1))`` (O'Neill, "Some useful moment results in
    sampling problems", 2014). For a mean that would be too cautious: heavy tails that are centred
    on nothing make the ratio of mean and error lighter, not heavier (Efron 1969).

    Args:
        contributions: The estimate.
        groups: One number a record, ``(n,)``, for records that are no independent evidence.

    Raises:
        InputError: There are fewer than two groups.
    """
    deviations = contributions.deviations(groups)
    count = len(deviations)
    if count < 2:
        raise InputError(f"an interval needs at least two independent records, got {count}")
    if not np.isfinite(deviations).all():
        return StudentT(contributions.value, math.inf, 1.0)
    squares = np.square(deviations - deviations.mean())
    total = float(squares.sum())
    freedom = count - 1.0
    error = math.sqrt(total / freedom / count)
    if contributions.is_ratio and total > 0:
        kurtosis = count * float(squares @ squares) / total**2
        excess = max(kurtosis - (count - 3) / (count - 1), 1e-9)
        freedom = min(max(2.0 * count / excess, 1.0), freedom)
    return StudentT(contributions.value, error, freedom)


def empirical_bernstein(
    contributions: Contributions,
    span: float,
    groups: Index | None = None,
    *,
    level: float = 0.95,
) -> Interval:
    """An interval for any number of records, from variance and range (Maurer and Pontil 2009).

    ``value -+ (sqrt(2 V log(2/d) / g) + 7 span log(2/d) / (3 (g - 1)))`` with ``d`` half of
    ``1 - level`` and the sample variance ``V`` over ``g`` groups.

    Args:
        contributions: The estimate; not a self-normalised one.
        span: Largest minus smallest value that a record can contribute: see
            :func:`contribution_span`.
        groups: One number a record, ``(n,)``, for records that are no independent evidence.
        level: Coverage.

    Raises:
        InputError: The estimate is self-normalised, or there are fewer than two groups.
    """
    if contributions.is_ratio:
        raise InputError("Bernstein's bound holds for means, not for self-normalised estimates")
    deviations = contributions.deviations(groups)
    count = len(deviations)
    if count < 2:
        raise InputError(f"an interval needs at least two independent records, got {count}")
    if groups is not None:  # a group contributes the sum of its records
        span *= float(np.bincount(groups).max()) * count / len(groups)
    log = math.log(2.0 / ((1.0 - level) / 2.0))
    variance = float(deviations.var(ddof=1))
    reach = math.sqrt(2.0 * variance * log / count) + 7.0 * span * log / (3.0 * (count - 1))
    return contributions.value - reach, contributions.value + reach


def contribution_span(rewards: Interval, largest_weight: float, *, with_model: bool) -> float:
    """Largest minus smallest value that a record can contribute to a mean.

    Args:
        rewards: Smallest and largest reward there can be.
        largest_weight: Largest importance weight there can be; 0 for the direct method.
        with_model: Whether predictions, which lie within the range of the rewards, are corrected
            by weighted residuals, as DR does; else rewards are weighted, as IPS does.
    """
    low, high = rewards
    if with_model:
        return (high - low) * (1.0 + 2.0 * largest_weight)
    return largest_weight * (max(high, 0.0) - min(low, 0.0))


def t_quantile(freedom: float, probability: float) -> float:
    """Quantile of Student's t distribution.

    Raises:
        MissingExtraError: scipy isn't installed.
    """
    try:
        from scipy.special import stdtrit
    except ImportError as error:
        raise MissingExtraError("scipy", "train") from error
    return float(stdtrit(freedom, probability))


def normal_quantile(probability: float) -> float:
    """Quantile of the normal distribution."""
    return NormalDist().inv_cdf(probability)


def t_tail(freedom: float, value: float) -> float:
    """Probability that Student's t exceeds a value.

    Raises:
        MissingExtraError: scipy isn't installed.
    """
    try:
        from scipy.special import stdtr
    except ImportError as error:
        raise MissingExtraError("scipy", "train") from error
    return float(stdtr(freedom, -value))
