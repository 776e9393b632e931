"""Settings of biased estimators, chosen by an estimate of their squared error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.estimators import (
    dr,
    dr_shrink,
    shrunk,
    switch_dr,
    switched,
)
from rl_rewriter.evaluation.off_policy.intervals import student_t
from rl_rewriter.evaluation.off_policy.sample import Index, LoggedSample, Values

_QUANTILES = (0.99, 0.95, 0.9, 0.75, 0.5, 0.25)
_SCALES = (100.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 0.0)


@dataclass(frozen=True, eq=False)
class Tuned:
    """An estimator with the setting that was chosen for it.

    Attributes:
        contributions: The estimate.
        setting: Threshold or scale; infinity leaves plain DR.
        weights: The weights that it really gives, ``(n,)``.
    """

    contributions: Contributions
    setting: float
    weights: Values


def tuned_switch_dr(sample: LoggedSample) -> Tuned:
    """SWITCH-DR with the best threshold among quantiles of the weights, 0 and infinity."""
    positive = sample.weights[sample.weights > 0]
    quantiles = np.quantile(positive, _QUANTILES) if len(positive) else np.empty(0)
    thresholds = [*np.unique(quantiles)[::-1].tolist(), 0.0]
    candidates = [dr(sample), *(switch_dr(sample, threshold) for threshold in thresholds)]
    chosen = least_error(candidates, sample.groups)
    threshold = [np.inf, *thresholds][chosen]
    return Tuned(candidates[chosen], threshold, switched(sample.weights, threshold))


def tuned_dr_shrink(sample: LoggedSample) -> Tuned:
    """DR with the best scale of shrinkage, from ``100 max(w)^2`` down to 0, and infinity."""
    largest = float(sample.weights.max())
    scales = [factor * largest**2 for factor in _SCALES]
    candidates = [dr(sample), *(dr_shrink(sample, scale) for scale in scales)]
    chosen = least_error(candidates, sample.groups)
    scale = [np.inf, *scales][chosen]
    return Tuned(candidates[chosen], scale, shrunk(sample.weights, scale))


def least_error(candidates: Sequence[Contributions], groups: Index | None = None) -> int:
    """Index of the candidate with the smallest estimate of ``bias^2 + variance``.

    The bias is taken at its upper end: the absolute mean difference to the unbiased candidate plus
    one standard error of that difference. This is the rule of Su et al. 2020, section 5, with a
    bound from the data. On simulated logs it is hardly ever worse than DR; without the added error
    it trusts differences that are noise, and rules that ask whether intervals overlap (SLOPE) took
    far too much bias at a few thousand records.

    Args:
        candidates: The unbiased estimate first.
        groups: One number a record, ``(n,)``, for records that are no independent evidence.
    """

    def error(candidate: Contributions) -> float:
        spread = student_t(candidate, groups).error
        if candidate is candidates[0]:
            return spread**2
        shift = student_t(candidates[0] - candidate, groups)
        return (abs(shift.value) + shift.error) ** 2 + spread**2

    return int(np.argmin([error(candidate) for candidate in candidates]))
