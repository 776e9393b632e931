"""All estimators on one log, each with its interval, and what should be known of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.bootstrap import bootstrap
from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.diagnostics import Overlap, effective_size, overlap
from rl_rewriter.evaluation.off_policy.estimators import ESTIMATORS, NEEDS_MODEL, dm
from rl_rewriter.evaluation.off_policy.intervals import (
    Interval,
    contribution_span,
    empirical_bernstein,
    student_t,
)
from rl_rewriter.evaluation.off_policy.report import Estimate, OffPolicyReport
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.evaluation.off_policy.tuning import Tuned, tuned_dr_shrink, tuned_switch_dr

IntervalKind = Literal["t", "bootstrap", "bernstein"]
_KINDS = ("t", "bootstrap", "bernstein")
_TUNED: Mapping[str, Callable[[LoggedSample], Tuned]] = {
    "switch_dr": tuned_switch_dr,
    "dr_shrink": tuned_dr_shrink,
}


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Which interval an estimate gets.

    Attributes:
        interval: "t", "bootstrap" or "bernstein"; self-normalised estimates, for which Bernstein's
            bound doesn't hold, keep "t".
        reward_range: Smallest and largest reward there can be, for Bernstein's bound; those seen by
            default.
        seed: Seed of the bootstrap.
    """

    interval: IntervalKind = "t"
    reward_range: Interval | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse unknown kinds and empty ranges."""
        if self.interval not in _KINDS:
            raise InputError(f"interval must be t, bootstrap or bernstein, got {self.interval!r}")
        if self.reward_range and not self.reward_range[0] < self.reward_range[1]:
            raise InputError(f"the range of rewards is empty: {self.reward_range}")


def evaluate_off_policy(
    sample: LoggedSample, config: EvaluationConfig | None = None
) -> OffPolicyReport:
    """Estimate a policy's value by every estimator that the records allow.

    Records without a propensity are left out, and counted. Where no record has one, the direct
    method alone remains.

    Raises:
        InputError: There is neither a propensity nor a reward model.
    """
    config = config or EvaluationConfig()
    known = np.flatnonzero(~np.isnan(sample.propensities))
    if not len(known):
        return _by_model_alone(sample, config)
    usable = sample if len(known) == len(sample) else sample.subset(known)
    found = overlap(usable)
    estimates = dict(_estimates(usable, found, config))
    warnings = []
    if len(usable) < len(sample):
        unknown = len(sample) - len(usable)
        warnings.append(f"{unknown} of {len(sample)} records have no propensity and were left out")
    return OffPolicyReport(
        n=len(sample),
        n_usable=len(usable),
        logged_value=float(usable.rewards.mean()),
        estimates=estimates,
        overlap=found,
        warnings=(*warnings, *found.warnings(), *_left_out(usable, estimates)),
    )


def _by_model_alone(sample: LoggedSample, config: EvaluationConfig) -> OffPolicyReport:
    if sample.predicted is None:
        raise InputError(
            f"none of the {len(sample)} records has a propensity, and there are no states to "
            "predict rewards from: nothing can be estimated"
        )
    warning = (
        f"none of the {len(sample)} records has a propensity: the direct method alone is left, and "
        "it is right as far as its reward model is"
    )
    return OffPolicyReport(
        n=len(sample),
        n_usable=0,
        logged_value=float(sample.rewards.mean()),
        estimates={"dm": _estimate(sample, dm(sample), "dm", config)},
        overlap=None,
        warnings=(warning,),
    )


def _left_out(sample: LoggedSample, estimates: Mapping[str, Estimate]) -> Iterator[str]:
    missing = [name for name in (*ESTIMATORS, *_TUNED) if name not in estimates]
    without_model = [name for name in missing if name in NEEDS_MODEL and sample.predicted is None]
    if without_model:
        yield f"{', '.join(without_model)} left out: the records hold no states to predict from"
    others = [name for name in missing if name not in without_model]
    if others:
        yield f"{', '.join(others)} left out: the policy would have taken none of the actions"


def _estimates(
    sample: LoggedSample, found: Overlap, config: EvaluationConfig
) -> Iterator[tuple[str, Estimate]]:
    for name, estimator in ESTIMATORS.items():
        if name in NEEDS_MODEL and sample.predicted is None:
            continue
        contributions = estimator(sample)
        if contributions.is_ratio and found.ess == 0:
            continue
        yield name, _estimate(sample, contributions, name, config)
    for name, tune in _TUNED.items():
        if sample.predicted is not None:
            tuned = tune(sample)
            yield name, _estimate(sample, tuned.contributions, name, config, tuned)


def _estimate(
    sample: LoggedSample,
    contributions: Contributions,
    name: str,
    config: EvaluationConfig,
    tuned: Tuned | None = None,
) -> Estimate:
    if name == "dm":
        size, largest = float(len(sample)), 0.0
    else:
        weights = sample.weights if tuned is None else tuned.weights
        size, largest = effective_size(weights), float(weights.max())
    return Estimate(
        value=contributions.value,
        ci95=_interval(sample, contributions, name, largest, config),
        ess=size,
        max_weight=largest,
    )


def _interval(
    sample: LoggedSample,
    contributions: Contributions,
    name: str,
    largest: float,
    config: EvaluationConfig,
) -> Interval:
    if config.interval == "bootstrap":
        return bootstrap(contributions, sample.groups, seed=config.seed)
    if config.interval == "bernstein" and not contributions.is_ratio:
        rewards = config.reward_range or (float(sample.rewards.min()), float(sample.rewards.max()))
        span = contribution_span(rewards, largest, with_model=name in NEEDS_MODEL)
        return empirical_bernstein(contributions, span, sample.groups)
    return student_t(contributions, sample.groups).interval()
