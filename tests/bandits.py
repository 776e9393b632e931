"""Logged decisions made by a simulator that knows the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_rewriter.features.feature_set import default_features
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.types import Needs

NAMES = ("keep", "keywords", "fuse_bm25@0.4")
FEATURES = default_features(Needs.NOTHING)


def truth_of(states: np.ndarray) -> np.ndarray:
    """Expected reward of each action, ``(n, 3)``: the second is better where a feature is high."""
    high = states[:, 0] > 0
    return np.column_stack([np.full(len(states), 0.4), np.where(high, 0.8, 0.1), 0.45 + 0 * high])


def bandit(n: int = 2000, *, seed: int = 0, **changed: Any) -> LoggedBandit:
    """Uniform logging over three actions; ``changed`` replaces arrays."""
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((n, len(FEATURES.columns))).astype(np.float32)
    actions = rng.integers(0, 3, n)
    rewards = truth_of(states)[np.arange(n), actions] + rng.normal(0.0, 0.1, n)
    values: dict[str, Any] = {
        "decision_ids": tuple(f"d{row}" for row in range(n)),
        "action_names": NAMES,
        "columns_fingerprint": FEATURES.fingerprint,
        "states": states,
        "actions": actions,
        "propensities": np.full(n, 1 / 3),
        "probabilities": np.full((n, 3), 1 / 3),
        "mask": np.ones((n, 3), dtype=np.bool_),
        "rewards": rewards,
        "groups": tuple(f"d{row}" for row in range(n)),
        "times": np.arange(n, dtype=np.float64),
    }
    return LoggedBandit(**{**values, **changed})
