"""Policies that have learned nothing: where training starts, and what a first log is made by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.policies.reference import mostly
from rl_rewriter.retrieval.protocols import Retriever


def keep_policy(n_features: int, n_actions: int, probability: float) -> MlpPolicy:
    """The policy that mostly keeps every query, whatever it sees."""
    return mostly_policy(0, n_features, n_actions, probability)


def mostly_policy(action: int, n_features: int, n_actions: int, probability: float) -> MlpPolicy:
    """The policy that mostly takes one action, whatever it sees."""
    held = mostly(action, n_actions, probability=probability).probabilities
    weight = np.zeros((n_actions, n_features), dtype=np.float32)
    return MlpPolicy((Layer(weight, np.log(np.maximum(held, 1e-6)).astype(np.float32)),))


def starting_checkpoint(
    retriever: Retriever, *, actions: ActionSpace | None = None, keep: float = 0.9
) -> Checkpoint:
    """Everything that deciding needs, with nothing learned.

    Args:
        retriever: What says which actions and features are possible.
        actions: What may be done; everything that the retriever can carry out by default.
        keep: Probability of keep; the other actions share the rest evenly.
    """
    space = actions or default_actions(retriever.offers)
    features = default_features(retriever.offers)
    nothing = np.zeros(len(features.columns), dtype=np.float32)
    return Checkpoint(
        policy=keep_policy(len(features.columns), len(space), keep),
        actions=space,
        features=replace(features, mean=nothing, scale=nothing + 1.0),
        statistics=retriever.statistics(),
        training={"algorithm": "none"},
    )
