"""What stands at the end of the ladder, and whether a choice by query is taken over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.policies.starting import mostly_policy
from rl_rewriter.training.choice import Choice
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.climb import cleared
from rl_rewriter.training.ladder.folds import GroupFolds, group_folds
from rl_rewriter.training.ladder.hurt import holds, hurt_share
from rl_rewriter.training.ladder.report import LadderReport
from rl_rewriter.training.ladder.served import asked_for
from rl_rewriter.training.ladder.standing import Standing
from rl_rewriter.training.loop import Outcome, greedy
from rl_rewriter.training.on_rows import FittedOnRows

CLEAR = 2.0
"""Standard errors on the validation queries above which a policy by query is taken over keep or a
single action."""
CLEAR_OVER_BLEND = 3.0
"""The same over a blend: the policy was chosen on these queries, and the blend was not."""
FEWEST_GROUPS = 25
"""With fewer groups of queries nothing chooses by query."""


def standing_column(found: Standing, table: RewardTable) -> int:
    """Column of what stands; a blend's is the last."""
    if found.is_blend:
        return len(table.action_names) - 1
    return (found.single or 0) if found.rung == "single" else 0


def policy_is_taken(
    learned: FittedOnRows, rows: Sequence[int], groups: Sequence[str], found: Standing
) -> tuple[bool, str]:
    """Whether the policy that chooses by query is clearly better than what stands, and in words.

    Args:
        learned: The policy, and the table of all queries.
        rows: Validation queries, which it was chosen by.
        groups: One name a query of the table.
        found: What stands.
    """
    held_out = learned.table.subset(rows)
    chosen = greedy(learned.outcome.policy, held_out, held_out.rewards)
    gain = chosen - held_out.rewards[:, standing_column(found, held_out)]
    error = group_folds([groups[row] for row in rows], 2, 0).standard_error(gain)
    needed = CLEAR_OVER_BLEND if found.is_blend else CLEAR
    is_clear = bool(gain.mean() > needed * error and gain.mean() > 0)
    told = (
        f"a policy that chooses actions by query {'taken' if is_clear else 'not taken'} over "
        f"{found.rung.replace('_', ' ')}: "
        + cleared(float(gain.mean()), error, needed, f" on {len(gain)} validation queries")
    )
    return is_clear, told


def choice_is_taken(
    choice: Choice, folds: GroupFolds, found: Standing, limit: float | None
) -> tuple[bool, str]:
    """Whether a linear choice is clearly better than what stands, and in words.

    Args:
        choice: The choice.
        folds: The division that it was cross-fitted by.
        found: What stands.
        limit: Largest share of queries below keep; None for no limit.
    """
    is_within = holds(choice.hurt, folds.n_groups, limit)
    is_taken = choice.is_clear and is_within
    told = (
        f"a choice by query around it {'taken' if is_taken else 'not taken'} over "
        f"{found.rung.replace('_', ' ')}: "
        + cleared(choice.gain, choice.standard_error, choice.needed)
    )
    if limit is not None:
        told += ", the best of those that hold the limit" if is_within else "; none holds the limit"
    return is_taken, told


def chosen_outcome(choice: Choice, found: Standing) -> Outcome:
    """The linear policy around what stands, and what it is worth by cross-fitting."""
    values = found.report.values
    validation = {
        "keep": values["keep"],
        "best_fixed": values.get("single", values["keep"]),
        "policy": values["keep"] + float(choice.values.mean()),
    }
    return Outcome(policy=choice.policy, update=0, kl=0.0, validation=validation)


def with_choice(
    report: LadderReport, choice: Choice, found: Standing, column: int, limit: float | None
) -> LadderReport:
    """A report whose served values are those of a linear choice.

    Args:
        report: What is told of what stands.
        choice: The choice around it.
        found: What stands.
        column: Its number among the actions.
        limit: Largest share of queries below keep; None for no limit.
    """
    is_served = np.where(choice.actions == column, found.is_open, choice.actions != 0)
    return replace(
        report,
        chooses=True,
        strength=report.strength or 1.0,
        served_share=float(is_served.mean()),
        served_value=report.values["keep"] + float(choice.values.mean()),
        served_hurt=choice.hurt,
        on_limit="" if limit is None else f"{asked_for(limit)}: {choice.hurt:.1%} do",
    )


def with_policy(report: LadderReport, learned: FittedOnRows, rows: Sequence[int]) -> LadderReport:
    """A report whose served values are those of a policy on its validation queries."""
    held_out = learned.table.subset(rows)
    values = greedy(learned.outcome.policy, held_out, held_out.values)
    hurt = hurt_share(values, held_out.values[:, 0])
    return replace(
        report,
        chooses=True,
        strength=report.strength or 1.0,
        served_share=1.0,
        served_value=float(values.mean()),
        served_hurt=hurt,
    )


def standing_outcome(table: RewardTable, index: int, found: Standing, config: FitConfig) -> Outcome:
    """The policy that mostly takes what stands."""
    n_features, n_actions = table.states.shape[1], len(table.action_names)
    values = found.report.values
    return Outcome(
        policy=mostly_policy(index, n_features, n_actions, config.reference_probability),
        update=0,
        kl=0.0,
        validation={
            "keep": values["keep"],
            "best_fixed": values.get("single", values["keep"]),
            "policy": found.report.served_value,
        },
    )
