"""Why an estimated gain should not be believed, whatever its interval says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rl_rewriter.evaluation.off_policy.diagnostics import overlap
from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.logs.dataset_report import DatasetReport

_MUCH_OFF_SCALE = 0.01
"""Above this share, what couldn't be read is more than slips of the pen."""


@dataclass(frozen=True)
class Objection:
    """A reason to refuse.

    Attributes:
        reason: One sentence: what is wrong, the value seen, what would help.
        further: How many more records like these remove it; None where no number would.
    """

    reason: str
    further: int | None = None


def about_records(
    n: int, usable: LoggedSample | None, config: GateConfig, age_days: float | None
) -> Iterator[Objection]:
    """Whether there are records enough, of unlike outcomes, and new enough.

    Args:
        n: Records, those without a propensity included.
        usable: Those with one; None where there are none.
        config: Thresholds.
        age_days: Age of the latest record; None where unknown.
    """
    if usable is None:
        yield Objection(
            f"none of the {n} records has a propensity, so no other policy can be judged by them: "
            "log decisions of a policy that explores"
        )
        return
    if np.ptp(usable.rewards) == 0.0:
        yield Objection(
            f"all rewards are {usable.rewards[0]:g}: nothing tells actions apart; log bad outcomes "
            "too, or give --default-reward"
        )
    short = config.min_records - usable.n_independent
    if short > 0:
        what = "records" if usable.groups is None else "conversations"
        left_out = f" (of {n} records, those without a propensity left out)" * (n > len(usable))
        yield Objection(
            f"too few {what}: {usable.n_independent}{left_out}, at least {config.min_records} are "
            "needed",
            math.ceil(short * len(usable) / usable.n_independent),
        )
    if config.max_age_days is not None and age_days is not None and age_days > config.max_age_days:
        yield Objection(
            f"the latest record is {age_days:.0f} days old, more than {config.max_age_days:g}: "
            "judge by records of what runs now"
        )


def about_feedback(read: DatasetReport) -> Iterator[Objection]:
    """Whether rewards were lost on the way from the log, the bad ones perhaps.

    Feedback off its scale is left out, mostly that of one sign: -1 on a scale from 0 to 1.

    Args:
        read: What became of the log.
    """
    values, decisions = read.feedback_counts.get("off_scale", 0), read.counts.get("off_scale", 0)
    share = max(
        values / max(read.feedback, 1),
        decisions / max(read.rows + decisions, 1),
    )
    if share > _MUCH_OFF_SCALE:
        kinds = ", ".join(repr(kind) for kind in read.off_scale)
        yield Objection(
            f"{values} of {read.feedback} feedback values are off their scale (of kind {kinds}) "
            f"and {decisions} decisions lost their reward, the bad ones perhaps: write them on "
            "the scale, from 0 to 1 for a kind of one's own"
        )


def about_overlap(sample: LoggedSample, whose: str, config: GateConfig) -> Iterator[Objection]:
    """Whether the records are about this policy at all.

    Args:
        sample: Usable records with the policy's probabilities.
        whose: Names the policy.
        config: Thresholds.
    """
    found = overlap(sample)
    if found.outside_support > config.max_outside_support:
        yield Objection(
            f"{found.outside_support:.1%} of the decisions of {whose} are actions that were never "
            f"logged or had no chance, more than {100 * config.max_outside_support:g}%: "
            f"{sample.silence or 'log with a policy that gives them some'}"
        )
    if found.ess < config.min_ess:
        more = math.ceil(len(sample) * (config.min_ess / found.ess - 1.0)) if found.ess else None
        yield Objection(
            f"the log is too unlike {whose}: the effective sample size is {found.ess:.1f} of "
            f"{len(sample)} records, at least {config.min_ess:g} is needed; log more records, or "
            "explore more",
            more,
        )
    elif found.has_wrong_weights:
        yield Objection(
            f"the propensities can't be right: importance weights of {whose} average "
            f"{found.mean_weight:.2f} where {1.0 - found.outside_support:.2f} is expected; check "
            "that they are those of the logged choices and that no records were selected"
        )
