"""Policies that have learned nothing: where training starts, and what a first log is made by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.blend_prior import STARTING_STRENGTH, BlendPrior, shipped_prior
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.actions.views import views_for
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.policies.reference import mostly
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.types import Needs


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
    return _started(retriever, space, action=0, probability=keep, training={"algorithm": "none"})


def prior_checkpoint(
    retriever: Retriever,
    *,
    actions: ActionSpace | None = None,
    strength: float = STARTING_STRENGTH,
    probability: float = 0.9,
    prior: BlendPrior | None = None,
) -> Checkpoint:
    """A policy that blends by weights learned on other collections; nothing was measured on yours.

    Args:
        retriever: What says which views, actions and features are possible.
        actions: What may be done beside the blend; everything that the retriever can carry out by
            default.
        strength: Share of the blend in what is searched, in (0, 1]; the rest is keep.
        probability: Of the blend; the other actions share the rest evenly.
        prior: Weights known from elsewhere; the shipped ones by default.

    Raises:
        InputError: The retriever searches no vectors or no view beside the query, the strength is
            no share, or another action has the blend's name.
    """
    if Needs.VECTOR not in retriever.offers:
        raise InputError(
            "the prior was learned with vectors, and this retriever searches texts alone: start "
            "with explore_untrained(), or give a retriever over embeddings"
        )
    single = actions or default_actions(retriever.offers)
    if BLEND in single.names:
        raise InputError(f"{BLEND!r} is the name of the blend: give your action another name")
    prior = prior or shipped_prior()
    names = [view.name for view in views_for(retriever.offers)]
    n_columns = len(default_features(retriever.offers).columns)
    blend = LearnedBlend(prior.head(names, n_columns, strength))
    space = single.extended([blend])
    training = {"algorithm": "prior", "strength": strength}
    return _started(retriever, space, len(single), probability, training)


def _started(
    retriever: Retriever,
    space: ActionSpace,
    action: int,
    probability: float,
    training: Mapping[str, Any],
) -> Checkpoint:
    """A checkpoint that mostly takes one action, with states as they are."""
    features = default_features(retriever.offers)
    nothing = np.zeros(len(features.columns), dtype=np.float32)
    return Checkpoint(
        policy=mostly_policy(action, len(features.columns), len(space), probability),
        actions=space,
        features=replace(features, mean=nothing, scale=nothing + 1.0),
        statistics=retriever.statistics(),
        training=training,
    )
