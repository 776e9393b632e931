"""What every arm chooses for queries that it hasn't learned from, fold by fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.benchmark.arm_names import POLICY
from rl_rewriter.benchmark.comparison.arms import chosen_by, usual_arms
from rl_rewriter.benchmark.comparison.blends import Served
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.fits import Fit, FitTask
from rl_rewriter.benchmark.comparison.searched import Searched
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.evaluation.held_out import Choices
from rl_rewriter.evaluation.significance import Values


@dataclass(frozen=True, eq=False)
class Chosen:
    """Choices for the ``n`` held-out queries.

    Attributes:
        choices: Arm -> indices of actions, ``(s, n)``.
        probability: Of the first policy's action, ``(n,)``; NaN where there is no policy.
    """

    choices: Mapping[str, Choices]
    probability: Values


def fit_tasks(searched: Searched, config: BenchmarkConfig) -> list[FitTask]:
    """One policy for each fold and seed; none where a fold leaves too little to learn from.

    A policy has the actions that some query of its training part can carry out: nothing can be
    learned about others.
    """
    division, bench = searched.division, searched.bench
    tasks = []
    for fold in division.folds.chosen_for:
        rows, _ = division.rows(fold)
        groups = tuple(division.groups[row] for row in rows)
        if len(set(groups)) < 2:  # none to choose by would be left
            return []
        learned = searched.table.subset(rows)
        learned = of_columns(learned, np.flatnonzero(learned.mask.any(axis=0)))
        for seed in config.policy_seeds:
            fit = replace(
                config.fit,
                reward=bench.reward,
                reinforce=replace(config.fit.reinforce, seed=seed),
            )
            tasks.append(
                FitTask(
                    fold=fold,
                    table=learned,
                    groups=groups,
                    features=searched.features,
                    config=fit,
                    pools=None if searched.pools is None else searched.pools.subset(rows),
                )
            )
    return tasks


def choose(
    searched: Searched, served: Served, fits: Sequence[Fit], config: BenchmarkConfig
) -> Chosen:
    """Let every arm choose for the queries of each fold, learned on all others.

    Args:
        searched: Outcomes of single actions, which all arms but the policy choose among.
        served: The same with those of learned blends.
        fits: The policies.
        config: Settings.
    """
    table, division = searched.table, searched.division
    whole_table = served.table(searched)
    choices: dict[str, Choices] = {}
    probability = np.full(len(table), np.nan)
    for fold in division.folds.chosen_for:
        own = [served.named(fit) for fit in fits if fit.fold == fold]
        rows, inside = division.rows(fold)
        learned, held_out = table.subset(rows), table.subset(inside)
        with_blends = whole_table.subset(inside)
        rng = np.random.default_rng([config.seed, fold])
        for arm in usual_arms(table.action_names, own, draws=max(1, config.seeds)):
            made = arm.choose(learned, with_blends if arm.name == POLICY else held_out, rng)
            whole = choices.setdefault(arm.name, np.zeros((len(made), len(table)), dtype=np.intp))
            whole[:, inside] = made
        if own:
            _, probability[inside] = chosen_by(own[0], with_blends)
    rows = division.held_out
    return Chosen({arm: made[:, rows] for arm, made in choices.items()}, probability[rows])


def of_columns(table: RewardTable, columns: Rows) -> RewardTable:
    """A table of some of its actions; keep must be the first."""
    return replace(
        table,
        action_names=tuple(table.action_names[column] for column in columns),
        mask=table.mask[:, columns],
        values=table.values[:, columns],
        rewards=table.rewards[:, columns],
    )
