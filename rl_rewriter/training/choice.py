"""A choice by query around what stands: another action only where its advantage looks clear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.table import RewardTable, Rows
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.policies.protocols import Mask, Values
from rl_rewriter.policies.ridge import Floats, Moments, Regression
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import hurt_share

PENALTY = 1000.0
"""Of the ridge regression: states say little, and many actions invite to believe too much."""
MARGINS = (0.01, 0.02)
"""Advantages, in units of the reward, that another action must be expected to be above."""
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


def learn_choice(table: RewardTable, standing: int, folds: GroupFolds) -> Choice:
    """Regress every action's advantage over what stands on the state, cross-fitted by group.

    Another action is taken where its expected advantage is above a margin. Of the margins the one
    is taken whose cross-fitted reward is highest.

    Args:
        table: Rewards of all actions, with standardised states.
        standing: The action that is left only for a clear advantage.
        folds: A division of the table's queries.
    """
    states = np.asarray(table.states, dtype=np.float64)
    possible = np.where(table.mask, table.rewards, table.rewards[:, :1])
    advantages = possible - possible[:, [standing]]
    moments = Moments.of(states, advantages, folds.number)
    expected = np.empty_like(advantages)
    for fold in range(len(moments.n)):
        inside = folds.number == fold
        expected[inside] = moments.without(fold).expected(states[inside], (PENALTY,))[0]
    rows = np.arange(len(table))
    taken = {margin: _taken(expected, table.mask, standing, margin) for margin in MARGINS}
    margin = max(MARGINS, key=lambda one: (float(possible[rows, taken[one]].mean()), one))
    values = np.asarray(possible[rows, taken[margin]])
    gains = values - possible[:, standing]
    return Choice(
        policy=_policy(moments.without(), standing, margin),
        margin=margin,
        actions=taken[margin],
        values=values,
        hurt=hurt_share(table.values[rows, taken[margin]], table.values[:, 0]),
        gain=float(gains.mean()),
        standard_error=folds.standard_error(gains),
        needed=CLEAR if standing else CLEAR_OVER_KEEP,
    )


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
