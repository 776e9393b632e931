"""Ridge regression of every action's gain on the state, for many folds and penalties at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rl_rewriter.policies.protocols import Mask

Floats = npt.NDArray[np.float64]
_FLAT = 1e-9
"""Columns with less variance than this tell nothing."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the rows of each of ``f`` folds: all that a ridge regression needs of them.

    Attributes:
        n: Rows, ``(f,)``.
        states: Sums of the state columns, ``(f, d)``.
        gains: Sums of the gains, ``(f, m)``.
        state_products: Products of state columns, ``(f, d, d)``.
        gain_products: Products of state columns and gains, ``(f, d, m)``.
    """

    n: Floats
    states: Floats
    gains: Floats
    state_products: Floats
    gain_products: Floats

    @classmethod
    def of(cls, states: Floats, gains: Floats, fold: npt.NDArray[np.intp]) -> Moments:
        """Sums of ``states (n, d)`` and ``gains (n, m)`` by the fold of each row, ``(n,)``."""
        parts = [states[fold == number] for number in range(int(fold.max()) + 1)]
        return cls(
            np.asarray([float(len(part)) for part in parts]),
            np.stack([part.sum(axis=0) for part in parts]),
            np.empty(0),
            np.stack([part.T @ part for part in parts]),
            np.empty(0),
        ).with_gains(states, gains, fold)

    def with_gains(self, states: Floats, gains: Floats, fold: npt.NDArray[np.intp]) -> Moments:
        """The sums of the same states beside other gains."""
        insides = [np.flatnonzero(fold == number) for number in range(len(self.n))]
        return replace(
            self,
            gains=np.stack([gains[rows].sum(axis=0) for rows in insides]),
            gain_products=np.stack([states[rows].T @ gains[rows] for rows in insides]),
        )

    def without(self, *folds: int) -> Regression:
        """The regression on the rows of all other folds."""
        kept = ~np.isin(np.arange(len(self.n)), folds)
        n = float(self.n[kept].sum())
        state_mean, gain_mean = self.states[kept].sum(axis=0) / n, self.gains[kept].sum(axis=0) / n
        within = self.state_products[kept].sum(axis=0) - n * np.outer(state_mean, state_mean)
        between = self.gain_products[kept].sum(axis=0) - n * np.outer(state_mean, gain_mean)
        variance = within.diagonal() / n
        scale = np.where(variance > _FLAT, np.sqrt(np.maximum(variance, _FLAT)), np.inf)
        return Regression(
            state_mean, gain_mean, within / np.outer(scale, scale), between / scale[:, None], scale
        )


@dataclass(frozen=True, eq=False)
class Regression:
    """Centred and scaled sums of the training rows.

    Attributes:
        state_mean: Means of the state columns, ``(d,)``.
        gain_mean: Means of the gains, ``(m,)``.
        within: Products of the standardised columns, ``(d, d)``.
        between: Products of the standardised columns and the gains, ``(d, m)``.
        scale: Standard deviations of the columns, infinite for one that is flat, ``(d,)``.
    """

    state_mean: Floats
    gain_mean: Floats
    within: Floats
    between: Floats
    scale: Floats

    def choices(
        self, states: Floats, mask: Mask, penalties: Sequence[float]
    ) -> npt.NDArray[np.intp]:
        """The possible action with the highest expected gain, ``(p, b)``.

        Args:
            states: Whom to choose for, ``(b, d)``.
            mask: What is possible, ``(b, m)``.
            penalties: Weights of the squared coefficients, ``p`` of them.
        """
        expected = self.expected(states, penalties)
        return np.asarray(np.where(mask, expected, -np.inf).argmax(axis=-1), dtype=np.intp)

    def expected(self, states: Floats, penalties: Sequence[float]) -> Floats:
        """Expected gain of every action, ``(p, b, m)``.

        It is ``mean + (z' z + penalty I)^-1 z' g`` of the standardised state ``z``.

        Args:
            states: Whom to choose for, ``(b, d)``.
            penalties: Weights of the squared coefficients, ``p`` of them.
        """
        coefficients = self._coefficients(penalties)
        return np.asarray((states - self.state_mean) / self.scale @ coefficients + self.gain_mean)

    def linear(self, penalty: float) -> tuple[Floats, Floats]:
        """The same as weights ``(d, m)`` and intercepts ``(m,)`` of states as they are."""
        weights = self._coefficients((penalty,))[0] / self.scale[:, None]
        return weights, self.gain_mean - self.state_mean @ weights

    def _coefficients(self, penalties: Sequence[float]) -> Floats:
        ridge = np.asarray(penalties, dtype=np.float64)[:, None, None] * np.eye(len(self.scale))
        return np.asarray(np.linalg.solve(self.within + ridge, self.between))
