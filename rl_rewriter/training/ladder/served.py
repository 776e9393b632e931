"""What is served of a rung where only so many queries may fall below keep."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.ladder.climb import Rung
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import Flags, holds, likely
from rl_rewriter.training.ladder.trial import Trial


@dataclass(frozen=True, eq=False)
class Served:
    """What is served, within the limit.

    Attributes:
        rung: What that is.
        values: Cross-fitted values of it, prices paid, ``(n,)``.
        hurt: Share of queries below keep, whatever they cost.
        is_open: Where something else than keep is served, ``(n,)``.
        strength: Share of that where it is served; the rest is keep. 0 for keep itself.
        told: What became of the limit; "" where none was set.
    """

    rung: Rung
    values: Values
    hurt: float
    is_open: Flags
    strength: float
    told: str = ""


def everywhere(trial: Trial, rung: Rung) -> Served:
    """A rung as it is, for every query."""
    values = trial.values[rung]
    is_open = np.full(len(values), rung != "keep")
    return Served(rung, values, trial.hurt[rung], is_open, strength=float(rung != "keep"))


def single_within(trial: Trial, rung: Rung, folds: GroupFolds, limit: float | None) -> Served:
    """Keep, or a single action for every query where it hurts few enough."""
    found = everywhere(trial, rung)
    if limit is None:
        return found
    if rung == "keep":
        return replace(found, told=f"{asked_for(limit)}: keep is served")
    if holds(found.hurt, folds.n_groups, limit):
        return replace(found, told=f"{asked_for(limit)}: {found.hurt:.1%} do")
    told = f"{single_hurts(limit, found.hurt, folds)}: keep is served"
    return replace(everywhere(trial, "keep"), told=told)


def asked_for(limit: float) -> str:
    """The limit in words."""
    return f"at most {100 * limit:g}% of the queries may fall below keep"


def single_hurts(limit: float, hurt: float, folds: GroupFolds) -> str:
    """The same where the best single action breaks it.

    Args:
        limit: Largest share of queries below keep.
        hurt: The share of the best single action.
        folds: The division, to say of how many queries that is and what a standard error makes of
            it.
    """
    told = f"{asked_for(limit)}, and the best single action hurts {hurt:.1%}"
    n_queries, n_groups = len(folds.groups), folds.n_groups
    of = f"{n_queries}" if n_groups == n_queries else f"{n_queries} in {n_groups} groups"
    return f"{told} of {of}, up to {likely(hurt, n_groups):.1%} with a standard error"
