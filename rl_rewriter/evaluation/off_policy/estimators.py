"""Estimators of a policy's value from another policy's log.

Notation: record ``i`` has state ``x``, action ``a``, reward ``r`` and propensity ``p(a|x)``; the
policy to be judged is ``pi``; ``w = pi(a|x) / p(a|x)`` is the importance weight, ``q(x, a)`` a
model's expected reward and ``q(x, pi) = sum_a pi(a|x) q(x, a)``. All arrays have shape ``(n,)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.sample import LoggedSample, Values

Estimator = Callable[[LoggedSample], Contributions]


def ips(sample: LoggedSample) -> Contributions:
    """``mean(w r)``: unbiased where ``p > 0`` wherever ``pi > 0`` (Horvitz and Thompson 1952)."""
    return _mean(sample.weights * sample.rewards)


def snips(sample: LoggedSample) -> Contributions:
    """``sum(w r) / sum(w)``: within the range of the rewards (Swaminathan and Joachims 2015)."""
    return Contributions((Part(sample.weights * sample.rewards, sample.weights),))


def dm(sample: LoggedSample) -> Contributions:
    """``mean(q(x, pi))``: the direct method, which is right as far as the model is.

    Its interval doesn't know the model's error: it is that of the states alone.
    """
    return _mean(sample.expected)


def dr(sample: LoggedSample) -> Contributions:
    """``mean(q(x, pi) + w (r - q(x, a)))``: doubly robust (Dudík, Langford and Li 2011)."""
    return _mean(sample.expected + sample.weights * sample.residuals)


def sndr(sample: LoggedSample) -> Contributions:
    """``mean(q(x, pi)) + sum(w (r - q(x, a))) / sum(w)``: DR, self-normalised.

    See Thomas and Brunskill, "Data-efficient off-policy policy evaluation" (2016).
    """
    correction = Part(sample.weights * sample.residuals, sample.weights)
    return Contributions((Part(sample.expected), correction))


def switch_dr(sample: LoggedSample, threshold: float) -> Contributions:
    """``mean(q(x, pi) + w 1{w <= threshold} (r - q(x, a)))``: large weights are left to the model.

    SWITCH of Wang, Agarwal and Dudík (2017) in the form that thresholds the weight of the action
    taken (Su et al. 2020).

    Args:
        sample: The records.
        threshold: 0 is the direct method, infinity is DR.
    """
    return _corrected(sample, switched(sample.weights, threshold))


def dr_shrink(sample: LoggedSample, scale: float) -> Contributions:
    """``mean(q(x, pi) + w' (r - q(x, a)))``, ``w' = scale w / (w^2 + scale)``: no weight is large.

    DR with optimistic shrinkage (Su, Dimakopoulou, Krishnamurthy and Dudík, "Doubly robust
    off-policy evaluation with shrinkage", 2020).

    Args:
        sample: The records.
        scale: Their lambda; 0 is the direct method, infinity is DR.
    """
    return _corrected(sample, shrunk(sample.weights, scale))


def switched(weights: Values, threshold: float) -> Values:
    """Weights above the threshold set to 0."""
    return np.where(weights <= threshold, weights, 0.0)


def shrunk(weights: Values, scale: float) -> Values:
    """``scale w / (w^2 + scale)``, at most ``sqrt(scale) / 2``."""
    if not scale >= 0:
        raise InputError(f"the scale of shrinkage must not be negative, got {scale}")
    if scale == 0:
        return np.zeros_like(weights)
    return np.asarray(weights / (weights * weights / scale + 1.0))


ESTIMATORS: Mapping[str, Estimator] = {
    "ips": ips,
    "snips": snips,
    "dm": dm,
    "dr": dr,
    "sndr": sndr,
}
"""Those without a setting, by name."""
NEEDS_MODEL = frozenset({"dm", "dr", "sndr", "switch_dr", "dr_shrink"})
"""Estimators that need predicted rewards."""


def _corrected(sample: LoggedSample, weights: Values) -> Contributions:
    return _mean(sample.expected + weights * sample.residuals)


def _mean(values: Values) -> Contributions:
    return Contributions((Part(values),))
