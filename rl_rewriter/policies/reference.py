"""Policies that look at nothing: where learning starts from and what it is held close to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.policies.categorical import Categorical, masked_share
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.types import Matrix


@dataclass(frozen=True, eq=False)
class ReferencePolicy:
    """The same distribution for every query, renormalised over what can be carried out.

    Attributes:
        name: What kind of reference it is.
        probabilities: Shape ``(m,)``, summing to 1.
    """

    name: str
    probabilities: npt.NDArray[np.float64]

    @property
    def version(self) -> str:
        """Hash of the probabilities."""
        return hashlib.sha256(self.probabilities.tobytes()).hexdigest()[:12]

    def distribution(self, states: Matrix, mask: Mask) -> Categorical:
        """The same row for each of ``n`` queries, masked."""
        return Categorical(masked_share(self.probabilities, mask))

    def held(self, mask: Mask) -> HeldTo:
        """This reference on the rows of a table with this mask, ``(n, m)``."""
        return HeldTo(masked_share(self.probabilities, mask), self.probabilities)


@dataclass(frozen=True, eq=False)
class HeldTo:
    """What the KL term holds a policy to on the rows of one table.

    Attributes:
        rows: A distribution for each row, ``(n, m)``, 0 for masked actions.
        prior: What an untrained policy plays whatever it sees, ``(m,)``, summing to 1.
    """

    rows: npt.NDArray[np.float64]
    prior: npt.NDArray[np.float64]

    @classmethod
    def by_rows(cls, rows: npt.NDArray[np.float64]) -> HeldTo:
        """Start from the mean of the rows ``(n, m)``."""
        return cls(rows, rows.mean(axis=0))

    def subset(self, index: npt.ArrayLike) -> HeldTo:
        """The same for some of the rows."""
        return HeldTo(self.rows[np.asarray(index, dtype=np.intp)], self.prior)


def uniform(n_actions: int) -> ReferencePolicy:
    """Every action alike."""
    return ReferencePolicy("uniform", np.full(n_actions, 1.0 / n_actions))


def mostly(action: int, n_actions: int, *, probability: float = 0.9) -> ReferencePolicy:
    """One action with the given probability, the rest shared evenly; keep is action 0.

    Raises:
        InputError: The action isn't one of ``n_actions``, or the probability isn't in (0, 1].
    """
    if not 0 <= action < n_actions:
        raise InputError(f"there is no action {action} among {n_actions}")
    if not 0.0 < probability <= 1.0:
        raise InputError(f"a probability must lie in (0, 1], got {probability}")
    if n_actions == 1:
        return ReferencePolicy("keep", np.ones(1))
    probabilities = np.full(n_actions, (1.0 - probability) / (n_actions - 1))
    probabilities[action] = probability
    return ReferencePolicy("keep-heavy" if action == 0 else "fixed", probabilities)


def always(action: int, n_actions: int) -> ReferencePolicy:
    """One action for every query; keep where it can't be carried out."""
    return mostly(action, n_actions, probability=1.0)
