"""Whether gains come where they are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.choices import PENALTIES, Problem
from rl_rewriter.evaluation.folds import Folds
from rl_rewriter.evaluation.significance import Values, bootstrap_interval
from rl_rewriter.policies.ridge import Moments
from rl_rewriter.rewards.reward import Table

BINS = 10


def expected_gains(table: RewardTable, folds: Folds) -> Table:
    """Gain over keep that a ridge regression on the state expects of every action, ``(n, m)``.

    It is learned without the fold of the query. Its penalty is the one with the least squared error
    when each of the other folds is left out in turn; headroom's predictor, which has to choose and
    not to foretell, takes the one whose choices gain most.

    Args:
        table: Outcomes on all queries, with states on any scale.
        folds: How they are divided.

    Returns:
        Expected gains; NaN for queries that are only learned from.
    """
    problem = Problem.of(table.states, table.values, table.mask, folds)
    moments = Moments.of(problem.states, problem.gains, folds.number)
    expected = np.full(problem.gains.shape, np.nan)
    for fold in folds.chosen_for:
        errors = np.zeros(len(PENALTIES))
        for inner in set(range(folds.n_folds)) - {fold}:
            if moments.n.sum() > moments.n[[fold, inner]].sum():
                inside = folds.number == inner
                foretold = moments.without(fold, inner).expected(problem.states[inside], PENALTIES)
                errors += ((foretold - problem.gains[inside]) ** 2).sum(axis=(1, 2))
        inside = folds.number == fold
        penalty = PENALTIES[int(errors.argmin())]
        expected[inside] = moments.without(fold).expected(problem.states[inside], (penalty,))[0]
    return expected


def calibration(
    predicted: Values, true: Values, *, groups: Sequence[str] | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """Ten bins of as many queries each, by predicted gain.

    Args:
        predicted: Gain that was expected of the chosen action, ``(n,)``.
        true: Gain that it had, ``(n,)``.
        groups: One name a query where queries belong together.
        seed: Seed of the intervals.

    Returns:
        "predicted", "true" (means), "n" and "ci95" (of the true gain) of each bin.
    """
    order = np.argsort(predicted, kind="stable")
    return [
        {
            "predicted": float(predicted[rows].mean()),
            "true": float(true[rows].mean()),
            "n": len(rows),
            "ci95": list(
                bootstrap_interval(
                    true[rows],
                    groups=None if groups is None else [groups[row] for row in rows],
                    seed=seed,
                )
            ),
        }
        for rows in np.array_split(order, min(BINS, len(order)))
    ]
