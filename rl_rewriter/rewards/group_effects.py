"""Predicted rewards that know how easy a conversation's other queries were."""

from __future__ import annotations

import numpy as np

from rl_rewriter.rewards.outcome_model import OutcomeConfig, cross_fitted
from rl_rewriter.rewards.outcome_moments import Index, Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.types import Matrix

_PASSES = 3


def predicted_with_groups(
    states: Matrix,
    actions: Index,
    rewards: Values,
    n_actions: int,
    *,
    groups: Index | None = None,
    kin: Index | None = None,
    config: OutcomeConfig | None = None,
    weights: Values | None = None,
) -> Table:
    """Expected reward of every action on every row, ``(n, m)``, cross-fitted, with group effects.

    ``q(x, a) + u``: to the model of :func:`~rl_rewriter.rewards.outcome_model.cross_fitted` comes
    what the *other* rows of the same group earned beyond their predictions. Model and effects are
    fitted in turn (backfitting: Breiman and Friedman, 1985). A row's own reward is in its
    prediction by a share that vanishes as ``1 / n`` only: never directly, but a row moves the model
    of the other folds, that their effects, and these the model that predicts the row. So doubly
    robust estimates are unbiased but for that share. Where queries or users come back, the effects
    take out what makes a reward high or low whatever is done.

    Args:
        states: Raw features, ``(n, d)``.
        actions: Index of the action taken, ``(n,)``.
        rewards: What it earned, ``(n,)``.
        n_actions: Number of actions ``m``.
        groups: One number a row, ``(n,)``; None where each row is a group of its own.
        kin: Number of each action's family, ``(m,)``; None for no families.
        config: Settings of the model.
        weights: Records that each row counts for, ``(n,)``; one by default.

    Raises:
        InputError: As for ``cross_fitted``.
    """

    def model(of: Values) -> Table:
        return cross_fitted(
            states,
            actions,
            of,
            n_actions,
            groups=groups,
            kin=kin,
            config=config,
            weights=weights,
        )

    if groups is None:
        return model(rewards)
    rows, effects = np.arange(len(rewards)), np.zeros(len(rewards))
    for _ in range(_PASSES):
        predicted = model(rewards - effects)
        effects = others_effects(rewards - predicted[rows, actions], groups, weights)
    predicted = model(rewards - effects)
    predicted += effects[:, None]
    return predicted


def others_effects(residuals: Values, groups: Index, weights: Values | None = None) -> Values:
    """Mean residual of the other rows of each row's group, drawn to 0, ``(n,)``.

    ``sum of the others / (their number + k)`` with ``k`` the variance within groups over that
    between them (the best linear predictor of a random effect: Robinson, 1991).

    Args:
        residuals: Shape ``(n,)``.
        groups: One number a row, ``(n,)``.
        weights: Records that each row counts for, ``(n,)``; one by default.
    """
    if weights is not None:
        return _weighted_effects(residuals, groups, weights)
    counts = np.bincount(groups).astype(np.float64)
    sums = np.bincount(groups, weights=residuals)
    squares = np.bincount(groups, weights=residuals**2)
    spare = np.maximum(counts - 1.0, 0.0).sum()
    if not spare:
        return np.zeros(len(residuals))
    within = float((squares - sums**2 / np.maximum(counts, 1.0)).sum() / spare)
    between = float(residuals.var()) - within
    if between <= 0.0:
        return np.zeros(len(residuals))
    others, weights = sums[groups] - residuals, counts[groups] - 1.0 + within / between
    effects = np.zeros(len(residuals))  # those of rows that are alone, where nothing varies within
    return np.divide(others, weights, out=effects, where=weights > 0.0)


def _weighted_effects(residuals: Values, groups: Index, weights: Values) -> Values:
    """The same with rows that count for more or less; each group loses one mean row's weight.

    Where all weights are 1 this is the unweighted form.
    """
    counts = np.bincount(groups, weights=weights)
    sums = np.bincount(groups, weights=weights * residuals)
    squares = np.bincount(groups, weights=weights * residuals**2)
    sizes = np.bincount(groups)
    spare = (counts * (1.0 - 1.0 / np.maximum(sizes, 1))).sum()
    if not spare:
        return np.zeros(len(residuals))
    means = np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0.0)
    within = float((squares - sums * means).sum() / spare)
    mean = np.average(residuals, weights=weights)
    between = float(np.average((residuals - mean) ** 2, weights=weights)) - within
    if between <= 0.0:
        return np.zeros(len(residuals))
    others = sums[groups] - weights * residuals
    shrunk = counts[groups] - weights + within / between
    is_alone = sizes[groups] == 1
    return np.divide(others, shrunk, out=np.zeros(len(residuals)), where=(shrunk > 0.0) & ~is_alone)
