"""Result lists that were shown, laid over the candidates of their queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.logs.shown import LISTED
from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.pools import Rows

DEPTH = LISTED
"""Documents of a list that count."""
MOST_LISTS = 300
"""Different lists of one query that are weighed against each other."""
DISCOUNTS: Values = 1.0 / np.log2(np.arange(2, DEPTH + 2))
"""What a document adds to the reward by its rank, as in DCG (Järvelin and Kekäläinen, 2002)."""


@dataclass(frozen=True, eq=False)
class Slates:
    """What ``d`` decisions about some of ``n`` queries showed, and what came of it.

    Attributes:
        rows: The query of each, ``(d,)``.
        places: Which of its query's candidates each shown document is, best first,
            ``(d, DEPTH)``; -1 where there is none or it isn't a candidate.
        rewards: One a decision, ``(d,)``.
        weights: What each counts for, ``(d,)``, positive.
    """

    rows: Rows
    places: npt.NDArray[np.int32]
    rewards: Values
    weights: Values

    def __post_init__(self) -> None:
        """Check that all arrays speak of the same decisions, in numbers that can be summed."""
        d = len(self.rows)
        if self.places.shape != (d, DEPTH) or not len(self.rewards) == len(self.weights) == d:
            raise InputError(
                f"slates of {d} decisions need as many lists of {DEPTH} places, rewards and "
                f"weights, got {self.places.shape}, {len(self.rewards)} and {len(self.weights)}"
            )
        if not (np.isfinite(self.rewards).all() and np.isfinite(self.weights).all()):
            raise InputError("rewards and weights of slates must be finite numbers")
        if not (self.weights > 0).all():
            raise InputError(f"weights of slates must be positive, got {self.weights.min()}")

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.rows)

    def of(self, decisions: Rows) -> Slates:
        """Some of the decisions."""
        return Slates(
            self.rows[decisions],
            self.places[decisions],
            self.rewards[decisions],
            self.weights[decisions],
        )

    def merged(self) -> Slates:
        """Decisions that showed the same list of the same query made one, with the mean reward.

        Of a query's lists the ``MOST_LISTS`` that count for most are left, since all of them are
        weighed against each other.
        """
        keys = np.column_stack([self.rows.astype(np.int32), self.places])
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        which = which.reshape(-1)
        weights: Values = np.bincount(which, self.weights).astype(np.float64)
        rewards = np.bincount(which, self.weights * self.rewards) / weights
        rows = distinct[:, 0].astype(np.intp)
        order = np.lexsort((-weights, rows))
        starts = np.searchsorted(rows[order], rows[order])
        kept = np.sort(order[np.arange(len(order)) - starts < MOST_LISTS])
        return Slates(rows, distinct[:, 1:], rewards, weights).of(kept)
