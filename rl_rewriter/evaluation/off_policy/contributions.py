"""Estimates as sums of means and of ratios of means, so that one interval serves all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.sample import Index, Values


@dataclass(frozen=True, eq=False)
class Part:
    """``sum(numerator) / n``, or ``sum(numerator) / sum(weights)`` where there are weights.

    Attributes:
        numerator: Shape ``(n,)``.
        weights: Shape ``(n,)``, none negative, or None.
    """

    numerator: Values
    weights: Values | None = None

    @cached_property
    def value(self) -> float:
        """The mean or ratio.

        Raises:
            InputError: All weights are 0.
        """
        if self.weights is None:
            return float(self.numerator.mean())
        total = float(self.weights.sum())
        if not total > 0:
            raise InputError(
                "no logged action is one that the policy would take (all importance weights are "
                "0): a self-normalised estimate doesn't exist"
            )
        return float(self.numerator.sum()) / total

    def deviations(self) -> Values:
        """By how much each record moves the value, times ``n``; their mean is 0, ``(n,)``."""
        if self.weights is None:
            return self.numerator - self.value
        return np.asarray((self.numerator - self.value * self.weights) / self.weights.mean())


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each record contributes to an estimate.

    Attributes:
        parts: The estimate is the sum of their values.
    """

    parts: tuple[Part, ...]

    @cached_property
    def value(self) -> float:
        """The estimate."""
        return sum(part.value for part in self.parts)

    @property
    def is_ratio(self) -> bool:
        """Whether the estimate is self-normalised."""
        return any(part.weights is not None for part in self.parts)

    def __len__(self) -> int:
        """Number of records."""
        return len(self.parts[0].numerator)

    def __sub__(self, other: Contributions) -> Contributions:
        """The paired difference on the same records."""
        minus = tuple(replace(part, numerator=-part.numerator) for part in other.parts)
        parts = self.parts + minus
        means = [part.numerator for part in parts if part.weights is None]
        ratios = tuple(part for part in parts if part.weights is not None)
        together = (Part(np.sum(means, axis=0)),) if means else ()
        return Contributions(together + ratios)

    def values(self) -> Values:
        """One number a record whose mean is the estimate: the linearised estimator, ``(n,)``.

        For ``v = sum(w r) / sum(w)`` that is ``v + w (r - v) / mean(w)`` (the delta method).
        """
        return np.asarray(self.value + sum(part.deviations() for part in self.parts))

    def deviations(self, groups: Index | None = None) -> Values:
        """By how much each group moves the estimate, times the number of groups ``g``; ``(g,)``.

        A group that holds the share ``h`` of all weights pulls a ratio toward itself, so that its
        deviation is too small; leaving it out would move the estimate ``1 / (1 - h)`` times as
        far. That factor is applied (the jackknife of a ratio; HC3 of MacKinnon and White 1985).
        It is infinite where one group holds all weights.

        Args:
            groups: One number a record, ``(n,)``; every record is a group of its own by default.
        """
        total: Values | float = 0.0
        for part in self.parts:
            moved = _sums(part.deviations(), groups)
            if part.weights is not None:
                share = _sums(part.weights, groups) / part.weights.sum()
                with np.errstate(divide="ignore", invalid="ignore"):
                    # 0 / 0: the one group with weights, on which the ratio rests alone
                    moved = np.where(share < 1.0, moved / (1.0 - share), np.inf)
            total = total + moved
        deviations = np.asarray(total)
        return deviations * (len(deviations) / len(self))


def _sums(values: Values, groups: Index | None) -> Values:
    if groups is None:
        return values
    return np.bincount(groups, weights=values).astype(np.float64)
