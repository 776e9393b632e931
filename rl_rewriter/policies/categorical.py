"""Categorical distributions over a listed set of actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.policies.protocols import Actions, Mask, Values
from rl_rewriter.types import Matrix

_FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class Categorical:
    """One probability vector a query.

    Attributes:
        probabilities: Shape ``(n, m)``, rows sum to 1, masked actions have 0.
    """

    probabilities: npt.NDArray[np.float64]

    def sample(self, rng: np.random.Generator) -> Actions:
        """Draw one action index a query by inverting the cumulative distribution, ``(n,)``."""
        cumulative = np.cumsum(self.probabilities, axis=1)
        draws = rng.random(len(cumulative))[:, None] * cumulative[:, -1:]
        return np.asarray((cumulative <= draws).sum(axis=1))

    def greedy(self) -> Actions:
        """Index of the most probable action, ``(n,)``; the earlier one on ties."""
        return np.asarray(self.probabilities.argmax(axis=1))

    def log_prob(self, actions: Actions) -> Values:
        """Log-probabilities of action indices, ``(n,)``; very low for masked actions."""
        chosen = self.probabilities[np.arange(len(actions)), actions]
        return np.asarray(np.log(np.maximum(chosen, _FLOOR)))

    def kl(self, other: Categorical) -> Values:
        """Exact ``sum_a p(a) log(p(a) / q(a))``, ``(n,)``."""
        if self.probabilities.shape != other.probabilities.shape:
            raise InputError(
                f"cannot compare distributions of shapes {self.probabilities.shape} and "
                f"{other.probabilities.shape}"
            )
        p = self.probabilities
        ratio = np.log(np.maximum(p, _FLOOR)) - np.log(np.maximum(other.probabilities, _FLOOR))
        return np.asarray((p * ratio).sum(axis=1))

    def entropy(self) -> Values:
        """``-sum_a p(a) log p(a)``, ``(n,)``."""
        p = self.probabilities
        return np.asarray(-(p * np.log(np.maximum(p, _FLOOR))).sum(axis=1))


def masked_softmax(logits: Matrix, mask: Mask) -> npt.NDArray[np.float64]:
    """Softmax over unmasked actions, ``(n, m)``; each row needs at least one unmasked action."""
    lifted = np.where(mask, logits.astype(np.float64), -np.inf)
    lifted -= lifted.max(axis=1, keepdims=True)
    weights = np.exp(lifted)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def masked_share(probabilities: npt.NDArray[np.float64], mask: Mask) -> npt.NDArray[np.float64]:
    """Fixed probabilities ``(m,)`` renormalised over unmasked actions, ``(n, m)``.

    Where all unmasked actions have probability 0, everything goes to the first one: keep.
    """
    weights = np.where(mask, probabilities[None, :], 0.0)
    totals = weights.sum(axis=1, keepdims=True)
    first = np.zeros_like(weights)
    first[:, 0] = 1.0
    return np.asarray(np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), first))
