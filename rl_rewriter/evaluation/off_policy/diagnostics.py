"""Whether a log can say anything about a policy at all: overlap of the two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rl_rewriter.evaluation.off_policy.sample import LoggedSample, Values

FEW_EFFECTIVE = 30.0
"""Below this effective sample size a handful of records decides."""
MUCH_OUTSIDE = 0.05
"""Above this share of decisions outside the log, the log is about another policy."""
_IMPLAUSIBLE = 4.0
"""Standard errors by which the mean weight may be off."""
_ROUNDING = 0.01


@dataclass(frozen=True)
class Overlap:
    """How much of what a policy would do is in the log.

    Attributes:
        ess: Effective sample size ``sum(w)^2 / sum(w^2)`` (Kish 1965): so many records drawn from
            the policy itself would tell as much.
        ess_share: The same as a share of the records.
        max_weight: Largest importance weight, before any is cut.
        mean_weight: 1 in expectation where the propensities are right and nothing is outside.
        mean_weight_error: Its standard error.
        outside_support: Share of the policy's decisions that the log can't speak about: actions
            that were never logged, or had no chance for that query.
        cut_share: Share of the weights that were cut.
    """

    ess: float
    ess_share: float
    max_weight: float
    mean_weight: float
    mean_weight_error: float
    outside_support: float
    cut_share: float

    @property
    def has_wrong_weights(self) -> bool:
        """Whether the mean weight can't be what it is by chance.

        Not asked of few effective records, whose mean weight is far off by chance alone.
        """
        off = abs(self.mean_weight - (1.0 - self.outside_support))
        is_off = off > _IMPLAUSIBLE * self.mean_weight_error and off > _ROUNDING
        return is_off and self.ess >= FEW_EFFECTIVE

    def warnings(self) -> list[str]:
        """What a reader of an estimate should know, in sentences."""
        found = []
        if self.outside_support > MUCH_OUTSIDE:
            found.append(
                f"{self.outside_support:.0%} of the policy's decisions are actions that were never "
                "logged or had no chance: estimates leave them out or guess"
            )
        if self.has_wrong_weights:
            found.append(
                f"importance weights average {self.mean_weight:.2f} where "
                f"{1.0 - self.outside_support:.2f} is expected: the propensities are not those of "
                "the logged choices, or records were selected by what came of them"
            )
        if self.ess < FEW_EFFECTIVE:
            found.append(
                f"the effective sample size is {self.ess:.1f}: a handful of records decides"
            )
        if self.cut_share > 0:
            found.append(
                f"{self.cut_share:.1%} of the weights were cut, the largest of them "
                f"{self.max_weight:.1f}: estimates are biased toward what was logged"
            )
        return found


def overlap(sample: LoggedSample) -> Overlap:
    """Compare what was logged with what the policy would do.

    Raises:
        InputError: A propensity is unknown.
    """
    weights, n = sample.uncut_weights, len(sample)
    size = effective_size(sample.weights)
    cut = 0.0 if sample.largest_weight is None else float((weights > sample.largest_weight).mean())
    return Overlap(
        ess=size,
        ess_share=size / n,
        max_weight=float(weights.max()),
        mean_weight=float(weights.mean()),
        mean_weight_error=float(weights.std()) / math.sqrt(n),
        outside_support=outside_support(sample),
        cut_share=cut,
    )


def effective_size(weights: Values) -> float:
    """``sum(w)^2 / sum(w^2)``; 0 where all weights are."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def outside_support(sample: LoggedSample) -> float:
    """Mean probability of actions that were never logged, or had no chance for that query."""
    logged = np.bincount(sample.actions, minlength=sample.target.shape[1]) > 0
    if sample.logging is None:
        return float(sample.target[:, ~logged].sum()) / len(sample)
    hopeless = ~logged | (sample.logging <= 0.0)  # false for NaN: nothing is known there
    return float(np.where(hopeless, sample.target, 0.0).sum()) / len(sample)
