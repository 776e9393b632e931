"""A contextual bandit as arrays: states, masks, and the value of every action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.rewards.reward import Table
from rl_rewriter.types import Matrix

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RewardTable:
    """Every action's outcome on every query: the environment that trainers batch against.

    Attributes:
        query_ids: Names of the ``n`` queries.
        action_names: Names of the ``m`` actions, keep first.
        states: What a policy sees, ``(n, d)``.
        mask: Which actions can be carried out, ``(n, m)``.
        values: Metric of each action, ``(n, m)``; keep's where an action is masked.
        rewards: What a trainer maximises, ``(n, m)``; 0 for keep, and where nothing could be done.
        weights: What each query counts for, ``(n,)``, positive; None where all count alike.
    """

    query_ids: tuple[str, ...]
    action_names: tuple[str, ...]
    states: Matrix
    mask: Mask
    values: Table
    rewards: Table
    weights: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check that all arrays speak of the same queries and actions."""
        shape = (len(self.query_ids), len(self.action_names))
        shapes: dict[str, tuple[int, ...]] = {
            "mask": self.mask.shape,
            "values": self.values.shape,
            "rewards": self.rewards.shape,
        }
        wrong = {name: found for name, found in shapes.items() if found != shape}
        if self.weights is not None and self.weights.shape != shape[:1]:
            wrong["weights"] = self.weights.shape
        if wrong or len(self.states) != shape[0]:
            raise InputError(f"arrays of {shape} queries and actions expected, got {wrong}")

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    def outcome(self, rows: Rows, actions: Rows) -> npt.NDArray[np.float64]:
        """Rewards of one action a query, ``(b,)``: a batch of one-step episodes."""
        return np.asarray(self.rewards[rows, actions])

    def mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Mean over the queries, each as it counts: ``()`` of ``(n,)``, ``(m,)`` of ``(n, m)``."""
        return np.asarray(np.average(values, axis=0, weights=self.weights))

    def subset(self, rows: Sequence[int] | Rows) -> RewardTable:
        """The same table for some of its queries."""
        index = np.asarray(rows, dtype=np.intp)
        return RewardTable(
            tuple(self.query_ids[row] for row in index),
            self.action_names,
            self.states[index],
            self.mask[index],
            self.values[index],
            self.rewards[index],
            None if self.weights is None else self.weights[index],
        )
