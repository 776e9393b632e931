"""Opens a saved policy together with something to search, for the ``rewrite`` command."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rl_rewriter.actions.views import look
from rl_rewriter.actions.words import counts_alike
from rl_rewriter.benchmark.stores import StoreConfig, open_own_retriever
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.errors import InputError
from rl_rewriter.policies.retrieving import Retrieved
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import OnProgress


def open_for_serving(
    policy: Path, data: str | None, store: StoreConfig, seed: int, on_progress: OnProgress
) -> RLQueryRewriter:
    """A rewriter over the user's own Chroma collection, or over DATA.

    Raises:
        CheckpointError: There is no usable policy.
        InputError: Neither a collection nor DATA is named.
    """
    # One query of one process: loading the model is part of its time.
    rewriter = RLQueryRewriter.load(policy, seed=seed, budget=Budget(seconds=None))
    rewriter.retriever = _retriever(data, store, on_progress)
    return rewriter


def blended_views(rewriter: RLQueryRewriter, found: Retrieved) -> dict[str, float]:
    """What each view of a learned blend weighed, by name; nothing where another action was taken.

    Looks at the query once more, for those who want to know.
    """
    made, checkpoint, retriever = found.decision, rewriter.checkpoint, rewriter.retriever
    if made.weights or checkpoint is None or retriever is None:
        return dict(made.weights)
    for blend in checkpoint.blends:
        if blend.name == made.action and made.state is not None:
            needs = blend.needs | checkpoint.features.needs
            [evidence] = gather([made.query], retriever, checkpoint.statistics, needs)
            evidence.features = np.asarray(made.state, dtype=np.float32)
            weights = blend.weights(evidence, look(evidence, blend.views))
            return dict(zip(blend.head.views, weights.tolist(), strict=True))
    return {}


def is_alike(rewriter: RLQueryRewriter, found: Retrieved) -> bool:
    """Whether BM25 alone was searched, and counted words spelt alike beside the query's own."""
    made, checkpoint = found.decision, rewriter.checkpoint
    actions = () if checkpoint is None else checkpoint.actions
    return any(
        action.name == made.action and counts_alike(action, made.rewrite) for action in actions
    )


def _retriever(data: str | None, store: StoreConfig, on_progress: OnProgress) -> Retriever:
    if store.is_own:
        return open_own_retriever(store)
    if data is None:
        raise InputError(
            "a decision looks at what the query retrieves: name your collection with --chroma-path "
            "DIR --collection NAME, or the data with --data DATA"
        )
    return open_workbench(data, store, on_progress=on_progress).retriever
