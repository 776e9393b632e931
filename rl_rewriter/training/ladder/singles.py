"""The ladder without blends: keep, or the best single action where that is clear enough."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.ladder.climb import climb
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import GroupFolds, group_folds
from rl_rewriter.training.ladder.hurt import is_hurt
from rl_rewriter.training.ladder.report import report_of
from rl_rewriter.training.ladder.served import single_within
from rl_rewriter.training.ladder.standing import Standing
from rl_rewriter.training.ladder.trial import Trial


@dataclass(frozen=True, eq=False)
class Singles:
    """What single actions earn, column 0 keep.

    Attributes:
        values: Their metric, ``(n, m)``.
        net: The same with prices paid.
    """

    values: Table
    net: Table

    def __post_init__(self) -> None:
        """Refuse what is no number.

        Raises:
            InputError: Something isn't.
        """
        off = int((~(np.isfinite(self.values) & np.isfinite(self.net))).sum())
        if off:
            raise InputError(
                f"values and prices of single actions must be finite, and {off} of "
                f"{self.net.size} aren't; look for NaN in rewards and for infinite prices"
            )

    @classmethod
    def of(cls, table: RewardTable) -> Singles:
        """The actions of a table."""
        return cls(table.values, table.values[:, :1] + table.rewards)

    @classmethod
    def at_no_price(cls, values: Table) -> Singles:
        """Actions that cost nothing."""
        return cls(values, values)

    @property
    def best(self) -> int:
        """Number of the action that is best on all queries."""
        return int(self.net.mean(axis=0).argmax())


def fit_singles(
    singles: Singles, groups: Sequence[str], config: LadderConfig, seed: int
) -> Standing:
    """Climb as far as a single action.

    Args:
        singles: What they earn on ``n`` queries.
        groups: One name a query; a group is never divided between folds.
        config: Settings.
        seed: Seed of the folds.
    """
    started = time.perf_counter()
    folds = group_folds(groups, config.folds, seed)
    trial = try_singles(singles, folds, config, seed)
    rung, steps = climb(trial.values, folds, config)
    served = single_within(trial, rung, folds, config.hurt_limit)
    trial.seconds["all"] = round(time.perf_counter() - started, 3)
    return Standing(
        rung=served.rung,
        single=singles.best,
        cross_fitted=trial.values,
        served=served.values,
        is_open=served.is_open,
        report=report_of(trial, folds, steps, served),
    )


def try_singles(singles: Singles, folds: GroupFolds, config: LadderConfig, seed: int) -> Trial:
    """Cross-fit the best single action, where there is any beside keep.

    Args:
        singles: What they earn on ``n`` queries.
        folds: The division.
        config: Says how many other divisions to cross-fit by.
        seed: Seed of those.
    """
    trial = Trial()
    trial.add("keep", np.asarray(singles.net[:, 0], dtype=np.float64), hurt=0.0)
    if folds.n_groups < 2:
        trial.messages.append(
            "too few queries: at least two groups are needed to learn anything; keep stays"
        )
    elif singles.net.shape[1] > 1:
        others = [folds.divided_anew((seed, number)) for number in range(1, config.divisions)]
        trial.add("single", *cross_fit_single(singles, [folds, *others]))
    return trial


def cross_fit_single(singles: Singles, divisions: Sequence[GroupFolds]) -> tuple[Values, float]:
    """Each query under the action that is best on the other folds, the mean of some divisions.

    Args:
        singles: What they earn on ``n`` queries.
        divisions: Divisions of these.

    Returns:
        What the queries earn, prices paid, ``(n,)``, and the share of them below keep, whatever
        the action costs.
    """
    rows = np.arange(len(singles.net))
    net, n_hurt = np.zeros(len(rows)), 0
    for folds in divisions:
        chosen = np.zeros(len(rows), dtype=np.intp)
        for learned_from, held_out in folds.parts():
            chosen[held_out] = singles.net[learned_from].mean(axis=0).argmax()
        net += singles.net[rows, chosen]
        n_hurt += int(is_hurt(singles.values[rows, chosen], singles.values[:, 0]).sum())
    return net / len(divisions), n_hurt / (len(rows) * len(divisions))
