"""Bounds of a running mean that hold at every look at once.

A 95% interval that is looked at a hundred times is wrong far more often than one time in twenty.
The bounds here are asymptotic confidence sequences: the chance that the true mean is *ever* on the
wrong side of one is at most ``alpha``, whatever the times of the looks and whoever decides when to
stop, for means of many observations of any scale (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
"Time-uniform central limit theory and asymptotic confidence sequences", 2021, arXiv:2103.06476).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rl_rewriter.errors import InputError


@dataclass
class RunningMean:
    """Mean and variance of observations that come one by one (Welford 1962).

    Attributes:
        n: How many came.
        mean: Their mean; 0 where none came.
        squares: Sum of their squared distances from it.
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Take in one observation."""
        self.n += 1
        delta = value - self.mean
        self.mean += delta / self.n
        self.squares += delta * (value - self.mean)

    @property
    def deviation(self) -> float:
        """Standard deviation, with ``n - 1`` degrees of freedom; infinite below two."""
        return math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else math.inf


@dataclass(frozen=True)
class AlwaysValid:
    """How far one-sided bounds lie from a running mean, each with its own ``alpha``.

    ``reach(n) = s sqrt(2 (n r^2 + 1) / (n^2 r^2) log(1 + sqrt(n r^2 + 1) / (2 alpha)))`` with the
    sample's standard deviation ``s``: the half-normal mixture, one-sided form, of the paper above.

    Attributes:
        alpha: Chance that the bound is ever wrong.
        tightest_at: Number of observations at which ``r`` makes it tightest: ``r^2 =
            (-2 log a + log(1 - 2 log a)) / n`` for ``a = 2 alpha``, to a good approximation.
    """

    alpha: float = 0.05
    tightest_at: int = 1_000

    def __post_init__(self) -> None:
        """Refuse chances that are none."""
        if not 0.0 < self.alpha < 0.5:
            raise InputError(f"alpha must lie between 0 and 0.5, got {self.alpha}")
        if self.tightest_at < 1:
            raise InputError(f"tightest_at must be at least 1, got {self.tightest_at}")

    def reach(self, n: int, deviation: float) -> float:
        """Distance of a bound from the mean of ``n`` observations; infinite below two."""
        if n < 2:
            return math.inf
        log = -2.0 * math.log(2.0 * self.alpha)
        squared = (log + math.log1p(log)) / self.tightest_at
        spread = n * squared + 1.0
        return deviation * math.sqrt(
            2.0 * spread / (n * n * squared) * math.log1p(math.sqrt(spread) / (2.0 * self.alpha))
        )
