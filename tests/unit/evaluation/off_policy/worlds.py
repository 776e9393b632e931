"""Bandits whose true values are known, and samples of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.rewards.outcome_model import cross_fitted

Array = npt.NDArray[np.float64]


def by_hand(**changed: Any) -> LoggedSample:
    """Four records of two actions with weights 2, 0, 4 and 1; ``changed`` replaces some arrays."""
    arrays: dict[str, Any] = {
        "rewards": [1.0, 0.0, 1.0, 0.5],
        "actions": [0, 1, 1, 0],
        "propensities": [0.5, 0.5, 0.25, 0.5],
        "target": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        "predicted": [[0.5, 0.25], [0.5, 0.25], [1.0, 0.5], [0.0, 1.0]],
    }
    given = {**arrays, **changed}
    as_arrays: dict[str, Any] = {
        name: np.asarray(value, dtype=np.intp if name in ("actions", "groups") else np.float64)
        for name, value in given.items()
        if value is not None and name != "largest_weight"
    }
    return LoggedSample(**as_arrays, largest_weight=given.get("largest_weight"))


@dataclass(frozen=True, eq=False)
class World:
    """Contexts drawn evenly from ``states``, with binary rewards.

    Attributes:
        states: Shape ``(N, d)``.
        expected: Chance of a reward of 1, ``(N, m)``.
        logging: Shape ``(N, m)``.
        target: Shape ``(N, m)``.
    """

    states: npt.NDArray[np.float32]
    expected: Array
    logging: Array
    target: Array

    @property
    def value(self) -> float:
        """True value of the target policy."""
        return float((self.target * self.expected).sum(axis=1).mean())

    def sample(
        self, n: int, seed: int, *, target: Array | None = None, with_model: bool = True
    ) -> LoggedSample:
        """``n`` independent records, with cross-fitted rewards where there shall be a model."""
        rng = np.random.default_rng(seed)
        rows = rng.integers(len(self.states), size=n)
        logging = self.logging[rows]
        drawn = rng.random(n)[:, None] > logging.cumsum(axis=1)[:, :-1]
        actions = drawn.sum(axis=1)
        rewards = (rng.random(n) < self.expected[rows, actions]).astype(np.float64)
        states, n_actions = self.states[rows], self.expected.shape[1]
        return LoggedSample(
            rewards=rewards,
            actions=actions,
            propensities=logging[np.arange(n), actions],
            target=(self.target if target is None else target)[rows],
            logging=logging,
            predicted=cross_fitted(states, actions, rewards, n_actions) if with_model else None,
        )


def world(*, n_actions: int = 4, spread: float = 1.0, seed: int = 0) -> World:
    """A world logged by a softmax policy and a greedy target that is right more often than not.

    Args:
        n_actions: Number of actions.
        spread: How uneven logging is; 0 is uniform.
        seed: Seed of everything.
    """
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((500, 3)).astype(np.float32)
    expected = 1.0 / (1.0 + np.exp(-(states @ rng.normal(size=(3, n_actions)))))
    logits = spread * states @ rng.normal(size=(3, n_actions))
    logging = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    liked = (expected + 0.2 * rng.standard_normal(expected.shape)).argmax(axis=1)
    return World(states, expected, logging, np.eye(n_actions)[liked])
