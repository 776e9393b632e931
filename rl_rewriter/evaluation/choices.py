"""What is chosen for each query by who never saw its outcomes: one action, or one by the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.folds import Folds, Rows
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.policies.ridge import Floats, Moments, Regression

PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e9)
"""Of the ridge regression, from a free hand to one that doesn't look at the state."""
SHUFFLES = 99


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and to choose for.

    Attributes:
        states: What is known of each query, ``(n, d)``.
        gains: Metric of every action less keep's, ``(n, m)``.
        mask: What is possible, ``(n, m)``.
        folds: How the rows are divided.
    """

    states: Floats
    gains: Floats
    mask: Mask
    folds: Folds

    @classmethod
    def of(cls, states: npt.ArrayLike, values: npt.ArrayLike, mask: Mask, folds: Folds) -> Problem:
        """The problem of metric values ``(n, m)``, keep first, and states on any scale."""
        columns = np.asarray(states, dtype=np.float64)
        table = np.asarray(values, dtype=np.float64)
        return cls(columns - columns.mean(axis=0), table - table[:, :1], mask, folds)


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices for all rows; -1 for those that are only learned from.

    Attributes:
        fixed: The action with the highest mean on the rows learned from, ``(n,)``.
        predicted: The action that the regression expects most from, ``(n,)``.
        penalties: Fold -> the penalty that was best in a cross-validation of the rows learned from.
    """

    fixed: Rows
    predicted: Rows
    penalties: dict[int, float]


def fixed_choices(problem: Problem) -> Rows:
    """For each row chosen for, the action that is best on the rows learned from; keep wins ties."""
    folds = problem.folds
    chosen = np.full(len(problem.gains), -1, dtype=np.intp)
    for fold in folds.chosen_for:
        learned, inside = folds.number != fold, folds.number == fold
        chosen[inside] = problem.gains[learned].mean(axis=0).argmax() if learned.any() else 0
    return chosen


def learned_choices(problem: Problem) -> Choices:
    """Choices by a single action and by a ridge regression on the state.

    The penalty of each fold is the one whose choices gained most when each of the other folds was
    left out in turn: rows chosen for have no part in it. Among equals the strongest is taken.
    """
    folds = problem.folds
    moments = _moments(problem)
    predicted = np.full(len(problem.gains), -1, dtype=np.intp)
    penalties = {}
    for fold in folds.chosen_for:
        gained = np.zeros(len(PENALTIES))
        for inner in set(range(folds.n_folds)) - {fold}:
            if moments.n.sum() > moments.n[[fold, inner]].sum():
                chosen = _chosen(problem, moments.without(fold, inner), inner, PENALTIES)
                inside = np.flatnonzero(folds.number == inner)
                gained += problem.gains[inside, chosen].sum(axis=1)
        strongest = int(np.flatnonzero(gained >= gained.max() - 1e-9)[-1])
        penalties[fold] = PENALTIES[strongest]
        inside = np.flatnonzero(folds.number == fold)
        predicted[inside] = _chosen(problem, moments.without(fold), fold, (penalties[fold],))[0]
    return Choices(fixed_choices(problem), predicted, penalties)


def needs_the_state(
    problem: Problem, choices: Choices, *, seed: int = 0, level: float = 0.05
) -> bool:
    """Whether the regression gains more over the single action than one on dealt-out states.

    Outcomes are dealt out at random to the rows learned from, groups in one piece, and everything
    is learned anew with the same penalties. Under the null hypothesis that the state tells nothing,
    the real outcomes are one such deal among others, whatever cross-validation makes of it.

    Args:
        problem: What was learned.
        choices: What came of it.
        seed: Seed of the deals.
        level: Share of deals, the real one among them, that may gain as much.
    """
    rng = np.random.default_rng(seed)
    observed = _advantage(problem, problem.gains, choices.fixed, choices.predicted)
    moments = _moments(problem)
    at_least = 1
    for _ in range(SHUFFLES):
        gains = problem.gains[problem.folds.shuffled(rng)]
        dealt = moments.with_gains(problem.states, gains, problem.folds.number)
        fixed, predicted = choices.fixed.copy(), choices.predicted.copy()
        for fold, penalty in choices.penalties.items():
            inside = problem.folds.number == fold
            regression = dealt.without(fold)
            fixed[inside] = regression.gain_mean.argmax()
            predicted[inside] = _chosen(problem, regression, fold, (penalty,))[0]
        at_least += _advantage(problem, gains, fixed, predicted) >= observed - 1e-12
        if at_least > level * (SHUFFLES + 1):
            return False
    return True


def _moments(problem: Problem) -> Moments:
    return Moments.of(problem.states, problem.gains, problem.folds.number)


def _chosen(
    problem: Problem, regression: Regression, fold: int, penalties: Sequence[float]
) -> Rows:
    """Choices for the rows of a fold under each penalty, ``(p, b)``."""
    inside = problem.folds.number == fold
    return regression.choices(problem.states[inside], problem.mask[inside], penalties)


def _advantage(problem: Problem, gains: Floats, fixed: Rows, predicted: Rows) -> float:
    """Sum of what the predicted actions gain over the fixed ones, on the rows chosen for."""
    rows = np.flatnonzero(fixed >= 0)
    return float((gains[rows, predicted[rows]] - gains[rows, fixed[rows]]).sum())
