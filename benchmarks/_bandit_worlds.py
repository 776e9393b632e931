"""Generated bandits whose policies' values are known exactly, and logs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.rewards.outcome_model import cross_fitted
from rl_rewriter.types import Matrix

Floats = npt.NDArray[np.float64]
Kind = Literal["binary", "graded"]
Logging = Literal["uniform", "epsilon", "skewed"]

N_CONTEXTS = 20_000
N_ACTIONS = 8
N_COLUMNS = 6
EPSILON = 0.1


@dataclass(frozen=True, eq=False)
class World:
    """Contexts, of which each record draws one evenly, and what every action earns in each.

    What an action earns bends and waves, so that a linear reward model is wrong about it, and
    depends on the context more than on the action, as it does for queries.

    Attributes:
        kind: Rewards are "binary" (a thumb), or "graded": 0 in a third of the cases, else a number
            up to 1 (nDCG).
        states: What is seen of the contexts, ``(N, d)``.
        expected: Expected reward of every action, ``(N, m)``.
    """

    kind: Kind
    states: Matrix
    expected: Floats

    @classmethod
    def generated(cls, kind: Kind, *, seed: int = 0) -> World:
        """A world with the first action, keep, a little above the others' average."""
        rng = np.random.default_rng(seed)
        states = rng.standard_normal((N_CONTEXTS, N_COLUMNS)).astype(np.float32)
        common = states @ rng.normal(scale=0.5, size=N_COLUMNS)
        own = 0.9 * np.tanh(states @ rng.normal(scale=0.5, size=(N_COLUMNS, N_ACTIONS)))
        offset = rng.normal(scale=0.3, size=N_ACTIONS)
        offset[0] = 0.3
        logits = common[:, None] + own + offset + 0.4 * np.sin(2.0 * states[:, :1])
        return cls(kind, states, 1.0 / (1.0 + np.exp(-logits)))

    def value(self, policy: Floats) -> float:
        """Exact value of a policy's probabilities, ``(N, m)``."""
        return float((policy * self.expected).sum(axis=1).mean())

    def log(
        self, logging: Floats, policies: Sequence[Floats], n: int, seed: Sequence[int]
    ) -> list[LoggedSample]:
        """``n`` independent records, once for each policy that is to be judged by them."""
        rng = np.random.default_rng(seed)
        rows = rng.integers(N_CONTEXTS, size=n)
        logged = logging[rows]
        actions = (rng.random(n)[:, None] > logged.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rewards = self._rewards(self.expected[rows, actions], rng)
        predicted = cross_fitted(self.states[rows], actions, rewards, N_ACTIONS)
        return [
            LoggedSample(
                rewards=rewards,
                actions=actions,
                propensities=logged[np.arange(n), actions],
                target=policy[rows],
                logging=logged,
                predicted=predicted,
            )
            for policy in policies
        ]

    def _rewards(self, expected: Floats, rng: np.random.Generator) -> Floats:
        if self.kind == "binary":
            return (rng.random(len(expected)) < expected).astype(np.float64)
        is_positive = 0.35 + 0.65 * expected
        mean = expected / is_positive
        drawn = rng.beta(4.0 * mean, 4.0 * (1.0 - mean))
        return np.where(rng.random(len(expected)) < is_positive, drawn, 0.0)


def logging_policy(name: Logging, world: World) -> Floats:
    """Probabilities of a logging policy, ``(N, m)``.

    "uniform"; "epsilon": keep in nine cases of ten, else any action; "skewed": a softmax of the
    state that likes the wrong things, some actions with chances below one in a thousand.
    """
    uniform = np.full_like(world.expected, 1.0 / N_ACTIONS)
    if name == "uniform":
        return uniform
    if name == "epsilon":
        probabilities = EPSILON * uniform
        probabilities[:, 0] += 1.0 - EPSILON
        return probabilities
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(N_COLUMNS, N_ACTIONS)) / np.sqrt(N_COLUMNS)
    return _softmax(world.states @ directions + rng.normal(size=N_ACTIONS))


def trained_policy(world: World, *, greedy: bool) -> Floats:
    """What an imperfect training would have made of the world, ``(N, m)``.

    Args:
        world: The world.
        greedy: All on the action that seems best; else a softmax.
    """
    rng = np.random.default_rng(2)
    seeming = world.expected + 0.1 * rng.standard_normal(world.expected.shape)
    return np.eye(N_ACTIONS)[seeming.argmax(axis=1)] if greedy else _softmax(6.0 * seeming)


def policy_of_value(world: World, value: float, *, seed: int = 3) -> Floats:
    """A deterministic policy with just this value or a hair below it, ``(N, m)``.

    It takes the best action in some contexts and the worst one in all others.

    Args:
        world: The world.
        value: The value.
        seed: Which contexts.
    """
    rows = np.arange(N_CONTEXTS)
    best, worst = world.expected.argmax(axis=1), world.expected.argmin(axis=1)
    order = np.random.default_rng(seed).permutation(N_CONTEXTS)
    gains = (world.expected[rows, best] - world.expected[rows, worst])[order].cumsum()
    missing = (value - world.value(np.eye(N_ACTIONS)[worst])) * N_CONTEXTS
    improved = order[: np.searchsorted(gains, missing, side="right")]
    actions = worst.copy()
    actions[improved] = best[improved]
    return np.asarray(np.eye(N_ACTIONS)[actions])


def _softmax(logits: npt.NDArray[np.floating]) -> Floats:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
