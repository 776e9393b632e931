"""Policies over three actions and two feature columns that matter, and logs of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords, TopicInFront
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.features.history import History
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.text.statistics import CollectionStatistics
from tests.support import DOCUMENTS

FEATURES = FeatureSet((QueryText(), History()))
N_COLUMNS = len(FEATURES.columns)
ACTIONS = ActionSpace((Keep(), Keywords(), TopicInFront()))
"""Named keep, keywords and topic."""


def policy_that_likes(first: int, second: int = 0, *, strength: float = 4.0) -> Checkpoint:
    """Prefers action ``first`` where the first column is above its mean of 10, else ``second``."""
    weight = np.zeros((len(ACTIONS), N_COLUMNS), dtype=np.float32)
    weight[first, 0] += strength
    weight[second, 0] -= strength
    mean, scale = np.zeros(N_COLUMNS, dtype=np.float32), np.ones(N_COLUMNS, dtype=np.float32)
    mean[0] = 10.0
    features = FeatureSet(FEATURES.extractors, mean, scale)
    bias = np.zeros(len(ACTIONS), dtype=np.float32)
    policy = MlpPolicy((Layer(weight, bias),))
    statistics = CollectionStatistics.from_texts(list(DOCUMENTS.values()))
    return Checkpoint(policy, ACTIONS, features, statistics)


def uniform_log(n: int = 600, *, seed: int = 0, **changed: Any) -> LoggedBandit:
    """Actions drawn evenly; keywords earns more where the first column is above 10, else less."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n, N_COLUMNS)).astype(np.float32)
    states[:, 0] += 10.0
    actions = rng.integers(3, size=n)
    chance = np.where(actions == 1, np.where(states[:, 0] > 10.0, 0.9, 0.1), 0.5)
    arrays: dict[str, Any] = {
        "decision_ids": tuple(f"d{row}" for row in range(n)),
        "action_names": ("keep", "keywords", "topic"),
        "columns_fingerprint": FEATURES.fingerprint,
        "states": states,
        "actions": actions,
        "propensities": np.full(n, 1 / 3),
        "probabilities": np.full((n, 3), 1 / 3),
        "mask": np.ones((n, 3), dtype=np.bool_),
        "rewards": (rng.random(n) < chance).astype(np.float64),
        "groups": tuple(f"d{row}" for row in range(n)),
        "times": np.arange(n, dtype=np.float64),
    }
    return LoggedBandit(**{**arrays, **changed})
