"""What follows from the room that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.power import queries_needed
from rl_rewriter.evaluation.significance import Values, group_numbers, t_test

Verdict = Literal["nothing_to_learn", "one_action_is_enough", "worth_learning", "too_small"]

TOO_FEW = 30
"""With fewer queries, or groups of queries that belong together, nothing can be said."""
NEGLIGIBLE = 0.005
"""Gains below this part of the metric's range are nothing."""
LEVEL = 0.05
"""Of two-sided tests."""


@dataclass(frozen=True, kw_only=True)
class Signs:
    """What the verdict rests on.

    Attributes:
        n_groups: Queries, or groups of queries that belong together.
        differs: Whether any action changes the outcome of any query.
        hindsight: Gain over keep of the best action for each query.
        hope: The same without what it owes to chance.
        smallest: The smallest gain worth having.
        fixed_gains: Whether one action is better than keep, though it was chosen for looking so.
        choosing_gains: Whether choosing by the state is better than keep and than that action.
    """

    n_groups: int
    differs: bool
    hindsight: float
    hope: float
    smallest: float
    fixed_gains: bool
    choosing_gains: bool


def verdict_of(signs: Signs) -> Verdict:
    """The one word that headroom comes to."""
    if not signs.differs:
        return "nothing_to_learn"
    if signs.n_groups < TOO_FEW:
        return "too_small"
    if signs.hindsight < signs.smallest:
        return "nothing_to_learn"
    if signs.choosing_gains:
        return "worth_learning"
    if signs.fixed_gains:
        return "one_action_is_enough"
    # The corrected best is a low estimate: it can't outvote a gain that is seen, only a hope.
    is_open = signs.hope >= signs.smallest and signs.n_groups < 3 * TOO_FEW
    return "too_small" if is_open else "nothing_to_learn"


def smallest_gain(values: npt.NDArray[np.float64]) -> float:
    """The smallest gain worth having, from the largest value of the metric seen or 1."""
    return NEGLIGIBLE * max(1.0, float(np.abs(values).max()))


def is_better(differences: Values, smallest: float, groups: Sequence[str] | None) -> bool:
    """Whether a mean difference is worth having and no chance, by a paired t-test."""
    return bool(differences.mean() >= smallest) and t_test(differences, groups=groups) <= LEVEL


def needed_to_tell(
    gains: npt.NDArray[np.float64], reached: float, smallest: float, groups: Sequence[str] | None
) -> int | None:
    """Queries that it would take to see what the best single action seems to gain.

    Never fewer than a verdict needs at all.

    Args:
        gains: Metric of every action less keep's, ``(n, m)``.
        reached: What the single action gained where it was chosen without looking.
        smallest: The smallest gain worth having: what is looked for where ``reached`` is less.
        groups: One name a query where queries belong together.

    Returns:
        The number; None where no action changes anything, so that there is no spread to go by.
    """
    differing = np.flatnonzero(gains.any(axis=0))
    if not len(differing):
        return None
    best = differing[gains[:, differing].mean(axis=0).argmax()]
    needed = queries_needed(gains[:, best], max(reached, smallest), groups=groups) or 0
    n_groups = int(group_numbers(groups, len(gains)).max()) + 1
    return max(needed, math.ceil(TOO_FEW * len(gains) / n_groups))
