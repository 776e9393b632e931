"""What a comparison found on one collection searched by one retriever, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.arm_names import POLICY
from rl_rewriter.benchmark.comparison.effort import Efforts, efforts_of
from rl_rewriter.benchmark.comparison.fits import Look
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.evaluation.held_out import HeldOut
from rl_rewriter.evaluation.significance import Values
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewards.reward import Table
from rl_rewriter.types import Needs, Query, Rewrite


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedPolicies:
    """What is told of policies beside what they choose.

    Attributes:
        seeds: One policy of each fold was trained with each of these.
        evidence: What they look at before they choose.
        probability: Probability of the first policy's action on each query, ``(n,)``.
        checkpoint: The policy of the first fold and seed.
        decide_ms: Milliseconds that its decisions about single queries took.
        looks: Training metrics, with "fold" and "seed".
    """

    seeds: tuple[int, ...]
    evidence: Needs
    probability: Values
    checkpoint: Checkpoint
    decide_ms: tuple[float, ...]
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared:
    """Arms on the ``n`` held-out queries, with all that is told about them.

    Attributes:
        bench: What was searched.
        protocol: Where held-out queries come from: "split", or "cv5" and the like.
        outcomes: Outcomes on the held-out queries, ``m`` actions.
        actions: The actions, in the same order.
        held_out: The arms.
        fold: Number of the fold in which each query was held out, ``(n,)``.
        n_folds: Folds.
        n_train: Queries learned from, the mean over the folds.
        best_fixed: The single action that was chosen on most folds' training queries.
        policies: The policies; None where none was trained.
        rewrites: What the first policy sends, ``n`` of them; what keep sends without one.
        expected: Gain over keep that a regression on the training queries expects of every action,
            ``(n, m)``; None where there is none.
        headroom: The object that ``headroom --json`` prints.
        notes: What a reader should know, a sentence each.
        seconds: Wall time by stage.
    """

    bench: Workbench
    protocol: str
    outcomes: Outcomes
    actions: ActionSpace
    held_out: HeldOut
    fold: Rows
    n_folds: int
    n_train: int
    best_fixed: str
    policies: TrainedPolicies | None
    rewrites: tuple[Rewrite, ...]
    expected: Table | None = None
    headroom: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The held-out queries."""
        return self.outcomes.queries

    @cached_property
    def chosen(self) -> Rows:
        """Action of the first policy on each query, ``(n,)``; keep without one."""
        if self.policies is None:
            return np.zeros(len(self.held_out), dtype=np.intp)
        return np.asarray(self.held_out.choices[POLICY][0])

    @cached_property
    def kinds(self) -> list[str]:
        """Kind of each query, "" where the data tell none."""
        return [self.bench.kinds.get(query.id, "") for query in self.queries]

    @cached_property
    def efforts(self) -> Efforts:
        """What serving each action takes where the policy chose it."""
        looked_at = Needs.NOTHING if self.policies is None else self.policies.evidence
        return efforts_of(self.outcomes, self.actions, self.bench.reward, looked_at)

    @cached_property
    def efforts_alone(self) -> Efforts:
        """What serving each action takes where nothing is looked at but what it needs itself."""
        return efforts_of(self.outcomes, self.actions, self.bench.reward)

    @cached_property
    def predicted_gain(self) -> Values:
        """Expected gain of the first policy's actions, ``(n,)``; NaN where nothing is expected."""
        if self.expected is None:
            return np.full(len(self.held_out), np.nan)
        return np.asarray(self.expected[np.arange(len(self.held_out)), self.chosen])
