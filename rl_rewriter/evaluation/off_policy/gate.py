"""Promote a policy, or refuse it with the reason and what would help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.estimators import ESTIMATORS
from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
from rl_rewriter.evaluation.off_policy.intervals import StudentT, normal_quantile, student_t
from rl_rewriter.evaluation.off_policy.objections import (
    Objection,
    about_feedback,
    about_overlap,
    about_records,
)
from rl_rewriter.evaluation.off_policy.sample import Index, LoggedSample, Table, Values
from rl_rewriter.evaluation.off_policy.verdict import Verdict
from rl_rewriter.evaluation.significance import holm
from rl_rewriter.logs.dataset_report import DatasetReport

_FEW = 200
"""Below so many records a reward model adds more noise than it removes."""
_POWER = 0.8


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a candidate has to beat.

    Attributes:
        name: "logged", "keep", or the name of a policy.
        target: That policy's probabilities on the same records, ``(n, m)``; None for what was
            logged. That is the mean reward, or, where the logging probabilities are known, the
            same estimator with those as target: the reward model takes part of the noise away, and
            a candidate that decides as the logging policy did gains exactly nothing.
        ratios: Density ratios that belong to the target, as in a sample.
    """

    name: str
    target: Table | None = None
    ratios: Values | None = None


def gate(
    candidates: Mapping[str, LoggedSample],
    baseline: Baseline,
    config: GateConfig | None = None,
    *,
    age_days: float | None = None,
    read: DatasetReport | None = None,
) -> dict[str, Verdict]:
    """Decide for each candidate whether it may replace the baseline.

    A candidate is promoted where the lower bound of its *paired* gain over the baseline, both
    estimated on the same records, lies above the margin. Whatever makes the estimate itself
    doubtful refuses it before that. Several candidates are several chances to be lucky: their
    one-sided p-values are corrected (Holm 1979).

    A candidate must not have been trained on the records that it is judged by: it would have
    learned their noise too, and look better than it is.

    Args:
        candidates: Name -> the records with that policy's probabilities, the same records for all.
        baseline: What they have to beat.
        config: Thresholds.
        age_days: Age of the latest record; None where unknown.
        read: What became of the log that the records are of; None where they are of none.

    Returns:
        Name -> verdict.
    """
    config = config or GateConfig()
    doubt = next(about_feedback(read), None) if read is not None else None
    cases = [_case(sample, baseline, config, age_days, doubt) for sample in candidates.values()]
    p_values = holm([c.gain.p_above(config.margin) if c.gain else 1.0 for c in cases])
    return {
        name: _verdict(case, baseline.name, config, p_value, len(cases))
        for name, case, p_value in zip(candidates, cases, p_values, strict=True)
    }


@dataclass(frozen=True)
class _Case:
    """One candidate.

    Attributes:
        n: Usable records.
        estimator: How the gain is estimated.
        gain: The gain; None where it can't be estimated.
        objection: The first reason not to believe it.
    """

    n: int
    estimator: str
    gain: StudentT | None
    objection: Objection | None


def _case(
    sample: LoggedSample,
    baseline: Baseline,
    config: GateConfig,
    age_days: float | None,
    doubt: Objection | None,
) -> _Case:
    known = np.flatnonzero(~np.isnan(sample.propensities))
    usable = sample.subset(known) if 0 < len(known) < len(sample) else sample
    objections = about_records(len(sample), usable if len(known) else None, config, age_days)
    if not len(known):
        return _Case(0, config.estimator, None, next(objections))
    rival = _rival(usable, baseline, known)
    overlaps = [about_overlap(usable, "the policy", config)]
    if rival is not None and baseline.target is not None:
        overlaps.append(about_overlap(rival, baseline.name, config))
    doubts = () if doubt is None else (doubt,)
    objection = next(chain(doubts, objections, *overlaps), None)
    estimator = _estimator(usable, rival, config)
    gain = None
    is_weighted = usable.weights.any() and (rival is None or rival.weights.any())
    if usable.n_independent > 1 and is_weighted:
        gain = student_t(_gain(usable, rival, estimator), usable.groups)
    return _Case(len(usable), estimator, gain, objection)


def _rival(usable: LoggedSample, baseline: Baseline, rows: Index) -> LoggedSample | None:
    """The same records with the baseline's probabilities; None where these are unknown."""
    if baseline.target is not None:
        ratios = None if baseline.ratios is None else baseline.ratios[rows]
        return replace(usable, target=baseline.target[rows], ratios=ratios, silence="")
    if usable.logging is None or np.isnan(usable.logging).any():
        return None
    return replace(usable, target=usable.logging, ratios=None, silence="")


def _estimator(sample: LoggedSample, rival: LoggedSample | None, config: GateConfig) -> str:
    if config.estimator != "auto":
        return config.estimator
    has_ratios = sample.ratios is not None or (rival is not None and rival.ratios is not None)
    is_blind = sample.predicted is None or has_ratios  # a model of actions sees no weights of views
    return "snips" if is_blind or len(sample) < _FEW else "dr"


def _gain(candidate: LoggedSample, rival: LoggedSample | None, estimator: str) -> Contributions:
    """The candidate's contributions less those of the other policy, or of what was logged."""
    estimate = ESTIMATORS[estimator]
    against = Contributions((Part(candidate.rewards),)) if rival is None else estimate(rival)
    return estimate(candidate) - against


def _verdict(
    case: _Case, baseline: str, config: GateConfig, p_value: float, n_candidates: int
) -> Verdict:
    gain, objection = case.gain, case.objection
    promote = objection is None and p_value < 1.0 - config.level
    needed = 0 if promote else _records_needed(case, config, n_candidates)
    if objection is not None:
        further = objection.further
        needed = None if further is None else max(further, needed or 0)
        reason = objection.reason
    else:
        reason = _in_words(case, baseline, config, p_value, needed, n_candidates)
    return Verdict(
        promote=promote,
        delta=gain.value if gain else None,
        ci95=gain.interval() if gain else None,
        baseline=baseline,
        estimator=case.estimator,
        reason=reason,
        records_needed=needed,
        p_value=p_value,
    )


def _records_needed(case: _Case, config: GateConfig, n_candidates: int) -> int | None:
    """Further records for a power of 80%: ``n ((z_alpha + z_power) error / gain)^2 - n``."""
    gain = case.gain
    if gain is None or gain.value <= config.margin or not math.isfinite(gain.error):
        return None
    alpha = (1.0 - config.level) / n_candidates
    reach = normal_quantile(1.0 - alpha) + normal_quantile(_POWER)
    ratio = reach * gain.error / (gain.value - config.margin)
    return max(1, math.ceil(case.n * (ratio * ratio - 1.0)))


def _in_words(
    case: _Case,
    baseline: str,
    config: GateConfig,
    p_value: float,
    needed: int | None,
    n_candidates: int,
) -> str:
    gain = case.gain
    if gain is None:
        return "the gain can't be estimated: the log holds no decision that the policy would take"
    bound = gain.lower_bound(config.level)
    seen = (
        f"{gain.value:+.4f} over {baseline}, at least {bound:+.4f} with {100 * config.level:g}% "
        f"confidence"
    )
    if n_candidates > 1:
        verb = "is" if needed == 0 else "is not"
        seen += (
            f", p = {p_value:.2g} {verb} below {1.0 - config.level:.3g} after correction for "
            f"{n_candidates} candidates"
        )
    if needed == 0:
        return f"the gain is shown: {seen}, above the margin {config.margin:g}"
    if needed is None:
        return f"no gain above the margin {config.margin:g}: {seen}"
    is_above = n_candidates > 1 and bound > config.margin
    short = "" if is_above else f", not above the margin {config.margin:g}"
    return (
        f"the gain isn't shown: {seen}{short}; about {needed} "
        "more records like these would show a gain of this size"
    )
