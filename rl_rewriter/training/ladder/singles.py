"""The ladder without blends: keep, or the best single action where that is clearly better."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.ladder.climb import climb
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import GroupFolds, group_folds
from rl_rewriter.training.ladder.report import report_of
from rl_rewriter.training.ladder.served import single_within
from rl_rewriter.training.ladder.standing import Standing
from rl_rewriter.training.ladder.trial import Trial


def fit_singles(values: Table, groups: Sequence[str], config: LadderConfig, seed: int) -> Standing:
    """Climb as far as a single action.

    Args:
        values: Metric of every single action, ``(n, m)``, column 0 keep.
        groups: One name a query; a group is never divided between folds.
        config: Settings.
        seed: Seed of the folds.

    Raises:
        InputError: Values hold NaN.
    """
    if not np.isfinite(values).all():
        raise InputError("values of single actions must be finite; some are not")
    started = time.perf_counter()
    folds = group_folds(groups, config.folds, seed)
    trial = try_singles(values, folds)
    rung, steps = climb(trial.values, folds, config)
    served = single_within(trial, rung, folds, config.hurt_limit)
    trial.seconds["all"] = round(time.perf_counter() - started, 3)
    return Standing(
        rung=served.rung,
        single=int(values.mean(axis=0).argmax()),
        cross_fitted=trial.values,
        served=served.values,
        is_open=served.is_open,
        report=report_of(trial, folds, steps, served),
    )


def try_singles(values: Table, folds: GroupFolds) -> Trial:
    """Cross-fit the best single action.

    Args:
        values: Metric of keep and, where there are some, of single actions, ``(n, m)``.
        folds: The division.
    """
    trial = Trial()
    trial.add("keep", np.asarray(values[:, 0], dtype=np.float64))
    if folds.n_groups < 2:
        trial.messages.append(
            "too few queries: at least two groups are needed to learn anything; keep stays"
        )
    elif values.shape[1] > 1:
        trial.add("single", cross_fit_single(values, folds))
    return trial


def cross_fit_single(values: Table, folds: GroupFolds) -> Values:
    """Each query's value under the action that is best on the other folds, ``(n,)``.

    Args:
        values: Metric of every single action, ``(n, m)``; column 0 is keep.
        folds: The division.
    """
    found = np.zeros(len(values))
    for rows, held_out in folds.parts():
        found[held_out] = values[held_out, int(values[rows].mean(axis=0).argmax())]
    return found
