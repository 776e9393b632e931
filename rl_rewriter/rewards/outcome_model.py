"""Rewards that no one observed: what each action would have earned, predicted from the state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.outcome_moments import (
    Index,
    Moments,
    Scaling,
    Values,
    chunks,
    moments_by_fold,
)
from rl_rewriter.rewards.reward import Table
from rl_rewriter.types import Matrix


@dataclass(frozen=True, kw_only=True)
class OutcomeConfig:
    """How strongly predictions are drawn toward what all actions have in common.

    Attributes:
        folds: Parts of the data for cross-fitting; each is predicted by a model of the others.
        shared_penalties: Ridge penalties tried for the slopes that all actions share.
        own_penalties: Ridge penalties tried for what is an action's own; the largest leaves each
            action little but its mean.
        prior_records: Records that the common prediction counts for in an action's own mean: an
            action logged less often than that is mostly given what the others earn.
        seed: Seed of the folds.
    """

    folds: int = 5
    shared_penalties: tuple[float, ...] = (1.0, 30.0, 1000.0)
    own_penalties: tuple[float, ...] = (10.0, 100.0, 1e9)
    prior_records: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be cross-fitted or solved."""
        if self.folds < 2:
            raise InputError(f"cross-fitting needs at least two folds, got {self.folds}")
        for name in ("shared_penalties", "own_penalties"):
            values = getattr(self, name)
            if not values or not all(value > 0 for value in values):
                raise InputError(f"{name} must be positive numbers, got {values}")
        if not self.prior_records > 0:
            raise InputError(f"prior_records must be positive, got {self.prior_records}")


@dataclass(frozen=True, eq=False)
class OutcomeModel:
    """A fitted linear model ``q(x, a) = z(x) . (common + own_a)``.

    Attributes:
        scaling: What makes states comparable.
        coefficients: Shape ``(m, d + 1)``, intercept first.
        lowest: Smallest reward seen; no prediction is below it.
        highest: Largest reward seen; no prediction is above it.
    """

    scaling: Scaling
    coefficients: Values
    lowest: float
    highest: float

    def predict(self, states: Matrix) -> Table:
        """Expected reward of every action, ``(n, m)``, for raw states ``(n, d)``."""
        predicted = np.empty((len(states), len(self.coefficients)))
        self.predict_rows(states, np.arange(len(states)), predicted)
        return predicted

    def predict_rows(self, states: Matrix, rows: Index, out: Table) -> None:
        """Write the predictions of some rows into a table of all rows, ``(n, m)``."""
        for part in chunks(rows):
            values = self.scaling.design(states, part) @ self.coefficients.T
            out[part] = np.clip(values, self.lowest, self.highest, out=values)


def kin_of(names: Sequence[str]) -> Index:
    """Number of each action's family, ``(m,)``: those whose names begin with the same word.

    Names say what an action does before they say how strongly: "fuse_bm25@0.2", "fuse_bm25@0.4".
    """
    families = [re.split(r"[^a-zA-Z]", name, maxsplit=1)[0] for name in names]
    number = {family: count for count, family in enumerate(dict.fromkeys(families))}
    return np.asarray([number[family] for family in families], dtype=np.intp)


def fit_outcome_model(
    states: Matrix,
    actions: Index,
    rewards: Values,
    n_actions: int,
    *,
    groups: Index | None = None,
    kin: Index | None = None,
    config: OutcomeConfig | None = None,
    weights: Values | None = None,
) -> OutcomeModel:
    """Fit a model on all records; for predictions of the same records use :func:`cross_fitted`.

    Ridge regression in steps. First one regression of the reward on the state for all actions
    together: how easy a query is matters more than what is done with it. Then, for each family of
    actions and at last for each action, a regression of what is left, whose intercept is drawn to 0
    by ``prior_records`` and whose slopes by a penalty: what was logged rarely is predicted by its
    kin. Penalties are those of the smallest squared error on held-out folds.

    Args:
        states: Raw features, ``(n, d)``; ``d`` may be 0, which leaves the actions' means.
        actions: Index of the action taken, ``(n,)``.
        rewards: What it earned, ``(n,)``.
        n_actions: Number of actions ``m``, those never taken included.
        groups: One number a row, ``(n,)``; a group is never divided between folds.
        kin: Number of each action's family, ``(m,)`` (:func:`kin_of`); None for no families.
        config: Settings.
        weights: Records that each row counts for, ``(n,)``; one by default.

    Raises:
        InputError: Arrays don't fit each other, or a number isn't finite.
    """
    config = config or OutcomeConfig()
    _check(states, actions, rewards, n_actions)
    _check_weights(weights, len(rewards))
    fold = _folds(len(rewards), groups, config)
    scaling, moments = moments_by_fold(
        states, actions, rewards, n_actions, fold, config.folds, weights
    )
    penalties = _penalties(moments, _complements(moments), kin, config)
    coefficients = reduce(add, moments).solve(*penalties, config.prior_records, kin)
    return OutcomeModel(scaling, coefficients, float(rewards.min()), float(rewards.max()))


def cross_fitted(
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
    """Expected reward of every action on every row, ``(n, m)``, by models that never saw the row.

    The models are those of :func:`fit_outcome_model`. A model that had seen a row would leave too
    small a residual there, and intervals of doubly robust estimates would be too narrow
    (Chernozhukov et al., "Double/debiased machine learning", 2018). Only the two penalties, the
    scaling of the states and the range of the rewards are taken from all rows.

    Args:
        states: Raw features, ``(n, d)``; ``d`` may be 0, which leaves the actions' means.
        actions: Index of the action taken, ``(n,)``.
        rewards: What it earned, ``(n,)``.
        n_actions: Number of actions ``m``, those never taken included.
        groups: One number a row, ``(n,)``; a group is never divided between folds.
        kin: Number of each action's family, ``(m,)`` (:func:`kin_of`); None for no families.
        config: Settings.
        weights: Records that each row counts for, ``(n,)``; one by default.

    Raises:
        InputError: Arrays don't fit each other, a number isn't finite, or all rows are of one
            group.
    """
    config = config or OutcomeConfig()
    _check(states, actions, rewards, n_actions)
    _check_weights(weights, len(rewards))
    fold = _folds(len(rewards), groups, config)
    if (fold == fold[0]).all():
        raise InputError("cross-fitting needs records of at least two groups, got one")
    scaling, moments = moments_by_fold(
        states, actions, rewards, n_actions, fold, config.folds, weights
    )
    others = _complements(moments)
    penalties = _penalties(moments, others, kin, config)
    lowest, highest = float(rewards.min()), float(rewards.max())
    predicted = np.empty((len(fold), n_actions))
    for number, seen in enumerate(others):
        coefficients = seen.solve(*penalties, config.prior_records, kin)
        model = OutcomeModel(scaling, coefficients, lowest, highest)
        model.predict_rows(states, np.flatnonzero(fold == number), predicted)
    return predicted


def _complements(moments: Sequence[Moments]) -> list[Moments]:
    """For each fold, the sums over all other folds."""
    return [
        reduce(add, (part for other, part in enumerate(moments) if other != number))
        for number in range(len(moments))
    ]


def _penalties(
    held_out: Sequence[Moments],
    seen: Sequence[Moments],
    kin: Index | None,
    config: OutcomeConfig,
) -> tuple[float, float]:
    """The pair of penalties with the smallest squared error on held-out folds."""

    def error(pair: tuple[float, float]) -> float:
        return sum(
            there.error(here.solve(*pair, config.prior_records, kin))
            for there, here in zip(held_out, seen, strict=True)
        )

    if held_out[0].cross.shape[1] == 1:  # no states: there are no slopes
        return config.shared_penalties[0], config.own_penalties[0]
    return min(product(config.shared_penalties, config.own_penalties), key=error)


def _folds(n: int, groups: Index | None, config: OutcomeConfig) -> Index:
    """Number of the fold of each row, ``(n,)``; groups are dealt out at random."""
    group = np.arange(n) if groups is None else groups
    if group.shape != (n,):
        raise InputError(f"got groups of shape {group.shape} for {n} records")
    order = np.random.default_rng(config.seed).permutation(int(group.max()) + 1)
    return np.asarray(order[group] % config.folds, dtype=np.intp)


def _check(states: Matrix, actions: Index, rewards: Values, n_actions: int) -> None:
    n = len(rewards)
    if not n or rewards.ndim != 1 or states.ndim != 2 or not len(states) == n == actions.size:
        raise InputError(
            "a reward model needs one state, action and reward a record, got shapes "
            f"{states.shape}, {actions.shape} and {rewards.shape}"
        )
    if actions.min() < 0 or actions.max() >= n_actions:
        raise InputError(
            f"actions must lie in 0 to {n_actions - 1}, got {actions.min()} to {actions.max()}"
        )
    unusable = n - int((np.isfinite(states).all(axis=1) & np.isfinite(rewards)).sum())
    if unusable:
        raise InputError(f"{unusable} of {n} records have a state or reward that isn't finite")


def _check_weights(weights: Values | None, n: int) -> None:
    if weights is None:
        return
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0.0)).all():
        raise InputError(f"a reward model needs {n} positive weights, one a record, or none")
