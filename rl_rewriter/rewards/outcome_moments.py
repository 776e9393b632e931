"""Least squares for several actions at once, from sums that are taken once for each fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Matrix

Values = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

_CLIP = 5.0
_CHUNK = 65_536
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Scaling:
    """What makes columns of states comparable.

    Attributes:
        mean: Shape ``(d,)``.
        scale: Standard deviations, ``(d,)``; infinite where a column is constant, which stays 0.
    """

    mean: Values
    scale: Values

    @classmethod
    def of(cls, states: Matrix, weights: Values | None = None) -> Scaling:
        """Statistics of states ``(n, d)``, whose rows count for ``weights (n,)`` or alike."""
        if weights is None:
            mean = states.mean(axis=0, dtype=np.float64)
            spread = states.std(axis=0, dtype=np.float64)
        else:
            share = weights / weights.sum()
            mean = share @ states
            spread = np.sqrt(share @ (states - mean) ** 2)
        return cls(mean, np.where(spread > 1e-8, spread, np.inf))

    def design(self, states: Matrix, rows: Index) -> Values:
        """A column of ones and the scaled states of some rows, ``(len(rows), d + 1)``."""
        design = np.ones((len(rows), states.shape[1] + 1))
        design[:, 1:] = np.clip((states[rows] - self.mean) / self.scale, -_CLIP, _CLIP)
        return design


@dataclass(frozen=True, eq=False)
class Moments:
    """Sufficient statistics of least squares, one set an action.

    Attributes:
        gram: ``Z'Z``, shape ``(m, p, p)`` with ``p = d + 1``.
        cross: ``Z'r``, shape ``(m, p)``.
        square: ``r'r``, shape ``(m,)``.
    """

    gram: Values
    cross: Values
    square: Values

    def __add__(self, other: Moments) -> Moments:
        """Those of two sets of rows together."""
        return Moments(self.gram + other.gram, self.cross + other.cross, self.square + other.square)

    def error(self, coefficients: Values) -> float:
        """Sum of squared errors of predictions with coefficients ``(m, p)``."""
        fitted = (coefficients[:, None, :] @ self.gram @ coefficients[:, :, None]).sum()
        return float(self.square.sum() - 2.0 * (coefficients * self.cross).sum() + fitted)

    def solve(
        self, shared: float, own: float, prior_records: float, kin: Index | None = None
    ) -> Values:
        """Coefficients ``(m, p)``: a ridge regression for all actions, then for kin, then for each.

        Args:
            shared: Penalty on the slopes that all actions have in common.
            own: Penalty on deviations from them.
            prior_records: Penalty on deviations in the intercept.
            kin: Number of each action's family, ``(m,)``, whose members deviate together before
                each deviates on its own; None for no families.
        """
        slopes = self.cross.shape[1] - 1
        penalty = np.diag([_TINY, *[shared] * slopes])
        common = np.linalg.solve(self.gram.sum(axis=0) + penalty, self.cross.sum(axis=0))
        penalty = np.diag([prior_records, *[own] * slopes])
        found = np.broadcast_to(common, self.cross.shape)
        if kin is not None:
            left = self.cross - np.einsum("apq,aq->ap", self.gram, found)
            member = kin == np.arange(kin.max() + 1)[:, None]  # (families, m)
            gram = np.einsum("fa,apq->fpq", member, self.gram)
            together = np.linalg.solve(gram + penalty, (member @ left)[:, :, None])[:, :, 0]
            found = found + together[kin]
        left = self.cross - np.einsum("apq,aq->ap", self.gram, found)
        return np.asarray(found + np.linalg.solve(self.gram + penalty, left[:, :, None])[:, :, 0])


def moments_by_fold(
    states: Matrix,
    actions: Index,
    rewards: Values,
    n_actions: int,
    fold: Index,
    folds: int,
    weights: Values | None = None,
) -> tuple[Scaling, list[Moments]]:
    """Sums over the rows of each fold, and the scaling of the states that they are in.

    Args:
        states: Shape ``(n, d)``.
        actions: Shape ``(n,)``.
        rewards: Shape ``(n,)``.
        n_actions: Number of actions ``m``.
        fold: Number of each row's fold, ``(n,)``.
        folds: Number of folds.
        weights: Records that each row counts for, ``(n,)``; one by default.
    """
    scaling, p = Scaling.of(states, weights), states.shape[1] + 1
    cell = fold * n_actions + actions
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(folds * n_actions + 1))
    sums = [
        Moments(np.zeros((n_actions, p, p)), np.zeros((n_actions, p)), np.zeros(n_actions))
        for _ in range(folds)
    ]
    for number in range(folds * n_actions):
        into, action = sums[number // n_actions], number % n_actions
        for rows in chunks(order[starts[number] : starts[number + 1]]):
            design, earned = scaling.design(states, rows), rewards[rows]
            if weights is not None:
                root = np.sqrt(weights[rows])
                design, earned = design * root[:, None], earned * root
            into.gram[action] += design.T @ design
            into.cross[action] += design.T @ earned
            into.square[action] += earned @ earned
    return scaling, sums


def chunks(rows: Index) -> Iterator[Index]:
    """Consecutive parts of row numbers, small enough to be worked on in double precision."""
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]
