"""A policy on held-out queries: beside keep, the best single action, and the per-query best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.comparison import Comparison, compare
from rl_rewriter.evaluation.significance import Values
from rl_rewriter.policies.mlp import MlpPolicy


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What each contender reaches on held-out queries.

    Attributes:
        keep: Per-query metric of keep, ``(n,)``.
        best_fixed: Of the single action that was best on the training queries.
        policy: Of the policy's most probable actions.
        oracle: Of the best action for each query in hindsight: nobody reaches that.
        chosen: Index of the policy's action for each query.
        means: Mean metric of every action.
        best_fixed_action: Name of that single action.
        action_share: Share of the queries on which the policy takes each action it takes.
        versus_keep: The policy against keep.
        versus_best_fixed: The policy against the single action.
    """

    keep: Values
    best_fixed: Values
    policy: Values
    oracle: Values
    chosen: npt.NDArray[np.intp]
    means: Mapping[str, float]
    best_fixed_action: str
    action_share: Mapping[str, float]
    versus_keep: Comparison
    versus_best_fixed: Comparison


def evaluate_policy(
    policy: MlpPolicy,
    table: RewardTable,
    best_fixed_action: str,
    *,
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> HeldOut:
    """Compare a policy with its baselines on queries that it has never seen.

    Args:
        policy: The policy.
        table: Outcome of every action on the held-out queries.
        best_fixed_action: The action that was best on the *training* queries.
        groups: One name a query where queries belong together.
        seed: Seed of tests and intervals.
    """
    chosen = policy.distribution(table.states, table.mask).greedy()
    keep = table.values[:, 0]
    fixed = table.values[:, table.action_names.index(best_fixed_action)]
    reached = table.values[np.arange(len(table)), chosen]
    counts = Counter(table.action_names[action] for action in chosen)
    return HeldOut(
        keep=keep,
        best_fixed=fixed,
        policy=reached,
        oracle=table.values.max(axis=1),
        chosen=chosen,
        means=dict(zip(table.action_names, map(float, table.values.mean(axis=0)), strict=True)),
        best_fixed_action=best_fixed_action,
        action_share={name: count / len(table) for name, count in counts.most_common()},
        versus_keep=compare(reached, keep, groups=groups, seed=seed),
        versus_best_fixed=compare(reached, fixed, groups=groups, seed=seed),
    )
