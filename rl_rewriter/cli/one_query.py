"""Opens a saved policy together with something to search, for the ``rewrite`` command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rl_rewriter.benchmark.stores import StoreConfig, own_collection
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewriter import RLQueryRewriter

Progress = Callable[[str, int, int], None]


def open_for_serving(
    policy: Path, data: str | None, store: StoreConfig, seed: int, on_progress: Progress
) -> RLQueryRewriter:
    """A rewriter over the user's own Chroma collection, or over DATA.

    Raises:
        CheckpointError: There is no usable policy.
        InputError: Neither a collection nor DATA is named.
    """
    rewriter = RLQueryRewriter.load(policy, seed=seed)
    rewriter.retriever = _retriever(data, store, on_progress)
    return rewriter


def _retriever(data: str | None, store: StoreConfig, on_progress: Progress) -> Retriever:
    if store.is_own:
        return chroma_retriever(
            own_collection(store), store.embedder or "minilm", cache_dir=store.cache_dir
        )
    if data is None:
        raise InputError(
            "a decision looks at what the query retrieves: name your collection with --chroma-path "
            "DIR --collection NAME, or the data with --data DATA"
        )
    return open_workbench(data, store, on_progress=on_progress).retriever
