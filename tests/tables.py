"""Reward tables made by hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable


def table_of(
    values: npt.ArrayLike,
    *,
    states: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    rewards: npt.ArrayLike | None = None,
) -> RewardTable:
    """A table of metric values ``(n, m)``; queries ``q0`` ..., actions ``keep``, ``a1`` ...

    Args:
        values: Metric of every action on every query.
        states: One constant column by default.
        mask: Everything is possible by default.
        rewards: Gain over keep by default.
    """
    array = np.asarray(values, dtype=np.float64)
    n_queries, n_actions = array.shape
    gains = array - array[:, :1]
    return RewardTable(
        query_ids=tuple(f"q{row}" for row in range(n_queries)),
        action_names=("keep", *(f"a{column}" for column in range(1, n_actions))),
        states=np.ones((n_queries, 1), np.float32)
        if states is None
        else np.asarray(states, dtype=np.float32),
        mask=np.ones(array.shape, np.bool_) if mask is None else np.asarray(mask, np.bool_),
        values=array,
        rewards=gains if rewards is None else np.asarray(rewards, dtype=np.float64),
    )


def two_signs_task(n_queries: int, *, seed: int = 0) -> RewardTable:
    """Action 1 is worth 1 where two numbers have one sign, else action 2; keep is worth .3."""
    states = np.random.default_rng(seed).standard_normal((n_queries, 3))
    values = np.eye(3)[np.where(states[:, 0] * states[:, 1] > 0.0, 1, 2)]
    values[:, 0] = 0.3
    return table_of(values, states=states)


def identity_task(n_queries: int, n_actions: int, *, seed: int = 0) -> RewardTable:
    """The state is random numbers, one an action; the action of the largest one is worth 1."""
    states = np.random.default_rng(seed).standard_normal((n_queries, n_actions))
    return table_of(np.eye(n_actions)[states.argmax(axis=1)], states=states)
