"""A choice by query around what stands: another action only where its advantage looks clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.table import RewardTable, Rows
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.policies.protocols import Mask, Values
from rl_rewriter.policies.ridge import Floats, Moments, Regression
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import holds, hurt_share

PENALTY = 1000.0
"""Of the ridge regression: states say little, and many actions invite to believe too much."""
MARGINS = (0.01, 0.02)
"""Advantages, in units of the reward, that another action must be expected to be above."""
SHARES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
"""Under a limit those that the best other action of so many queries is expected to be below."""
CLEAR, CLEAR_OVER_KEEP = 1.5, 2.0
"""Standard errors that the cross-fitted gain has to be above: over what stands, and over keep."""
TEMPERATURE = 0.01
"""Difference of expected rewards that makes an action e times as probable."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A linear policy around one action.

    Attributes:
        policy: Chooses by standardised states.
        margin: What another action's expected advantage is lowered by.
        actions: Its most probable actions by cross-fitting, ``(n,)``.
        values: Rewards of these, ``(n,)``.
        hurt: Share of queries on which their metric is below keep's, whatever they cost.
        gain: Mean of these over what stands.
        standard_error: Of the gain.
        needed: Standard errors that the gain has to be above.
    """

    policy: MlpPolicy
    margin: float
    actions: Rows
    values: Values
    hurt: float
    gain: float
    standard_error: float
    needed: float

    @property
    def is_clear(self) -> bool:
        """Whether it pays."""
        return self.gain > 0.0 and self.gain > self.needed * self.standard_error


def learn_choice(
    table: RewardTable, standing: int, folds: GroupFolds, limit: float | None = None
) -> Choice:
    """Regress every action's advantage over what stands on the state, cross-fitted by group.

    Another action is taken where its expected advantage is above a margin: of some the one whose
    cross-fitted reward is highest. Under a limit margins are those that a share of the queries is
    expected to be below, and the best one is taken of those that hold the limit: so single actions,
    too, are served to those alone who are expected to gain most.

    Args:
        table: Rewards of all actions, with standardised states.
        standing: The action that is left only for a clear advantage.
        folds: A division of the table's queries.
        limit: Largest share of queries below keep, a standard error to spare; None for no limit.
    """
    states = np.asarray(table.states, dtype=np.float64)
    possible = np.where(table.mask, table.rewards, table.rewards[:, :1])
    advantages = possible - possible[:, [standing]]
    moments = Moments.of(states, advantages, folds.number)
    parts = [held_out for _, held_out in folds.parts()]
    expected = np.empty_like(advantages)
    for fold, inside in enumerate(parts):
        expected[inside] = moments.without(fold).expected(states[inside], (PENALTY,))[0]
    if limit is None:
        tried = [(margin, _taken(expected, table.mask, standing, margin)) for margin in MARGINS]
    else:
        final = moments.without().expected(states, (PENALTY,))[0]
        tried = _by_share(expected, final, table.mask, standing, parts)
    rows = np.arange(len(table))
    worth = [np.asarray(possible[rows, actions]) for _, actions in tried]
    hurt = [hurt_share(table.values[rows, one], table.values[:, 0]) for _, one in tried]
    within = [n for n, share in enumerate(hurt) if holds(share, folds.n_groups, limit)]
    best = max(within or [len(tried) - 1], key=lambda n: (float(worth[n].mean()), n))
    margin, actions = tried[best]
    gains = worth[best] - possible[:, standing]
    return Choice(
        policy=_policy(moments.without(), standing, margin),
        margin=margin,
        actions=actions,
        values=worth[best],
        hurt=hurt[best],
        gain=float(gains.mean()),
        standard_error=folds.standard_error(gains),
        needed=CLEAR if standing else CLEAR_OVER_KEEP,
    )


def _by_share(
    expected: Floats, final: Floats, mask: Mask, standing: int, parts: Sequence[Rows]
) -> list[tuple[float, Rows]]:
    """For each share the margin of the final regression, and the actions taken by cross-fitting.

    Each fold has a margin of its own, since regressions differ between folds: one for all would
    serve some folds as a whole.
    """
    found = []
    for share in SHARES:
        actions = np.empty(len(mask), dtype=np.intp)
        for inside in parts:
            margin = _margin(expected[inside], mask[inside], standing, share)
            actions[inside] = _taken(expected[inside], mask[inside], standing, margin)
        found.append((_margin(final, mask, standing, share), actions))
    return found


def _margin(expected: Floats, mask: Mask, standing: int, share: float) -> float:
    """What the best other action of so many queries is expected to be below, at least 0."""
    others = np.where(mask, expected, -np.inf)
    others[:, standing] = -np.inf
    best = others.max(axis=1)
    best = best[np.isfinite(best)]
    return max(0.0, float(np.quantile(best, share))) if len(best) else 0.0


def _taken(expected: Floats, mask: Mask, standing: int, margin: float) -> Rows:
    """The most probable action of each query."""
    lowered = expected - margin
    lowered[:, standing] = 0.0
    return np.asarray(np.where(mask, lowered, -np.inf).argmax(axis=1))


def _policy(regression: Regression, standing: int, margin: float) -> MlpPolicy:
    """Logits in units of :data:`TEMPERATURE`; that of what stands is 0."""
    weight, intercept = regression.linear(PENALTY)
    intercept = intercept - margin
    weight[:, standing], intercept[standing] = 0.0, 0.0
    layer = Layer(
        np.ascontiguousarray(weight.T / TEMPERATURE, dtype=np.float32),
        (intercept / TEMPERATURE).astype(np.float32),
    )
    return MlpPolicy((layer,))
