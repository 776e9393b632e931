"""The retriever that stands over a user's Chroma collection: dense search and BM25, joined."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rl_rewriter.caching.identity import identity_of
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.cached import CachedRetriever, SearchState
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.chroma_version import collection_version
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.serving_embedder import ServingEmbedder
from rl_rewriter.retrieval.vector_sizes import vector_size


def chroma_retriever(
    collection: Any,
    embedder: Any,
    *,
    cache_dir: Path | None = None,
    default_weight: float = 0.0,
    refresh_seconds: float = 30.0,
) -> HybridRetriever:
    """Dense search in the collection, with its BM25 index beside it.

    Args:
        collection: A ``chromadb`` collection.
        embedder: What embedded its documents (see
            :func:`rl_rewriter.retrieval.embedders.as_embedder`).
        cache_dir: Where the BM25 index is kept; the user's cache folder by default.
        default_weight: BM25's share where a rewrite names none; above 0 "keep" is a hybrid search.
        refresh_seconds: How long changes of the collection may go unnoticed by BM25.
    """
    return HybridRetriever(
        ChromaRetriever(collection, as_embedder(embedder)),
        ChromaBm25(collection, cache_dir=cache_dir, refresh_seconds=refresh_seconds),
        default_weight=default_weight,
    )


def serving_retriever(
    collection: Any,
    embedder: Any,
    *,
    cache: ServingCache | None,
    cache_dir: Path | None = None,
    default_weight: float = 0.0,
    refresh_seconds: float = 30.0,
    index: ChromaBm25 | None = None,
) -> HybridRetriever | CachedRetriever:
    """As :func:`chroma_retriever`, with what was embedded and found before kept in memory.

    Args:
        collection: A ``chromadb`` collection.
        embedder: What embedded its documents.
        cache: Where it is kept, such as
            :func:`rl_rewriter.caching.default.default_cache`; None keeps nothing.
        cache_dir: Where the BM25 index is kept; the user's cache folder by default.
        default_weight: BM25's share where a rewrite names none.
        refresh_seconds: How long changes of the collection may go unnoticed by BM25.
        index: The collection's BM25 index, with its own folder and refreshing; a new one by
            default.
    """
    size = partial(vector_size, collection)
    model = as_embedder(embedder) if cache is None else ServingEmbedder(embedder, cache, size=size)
    if index is None:
        index = ChromaBm25(collection, cache_dir=cache_dir, refresh_seconds=refresh_seconds)
    dense = ChromaRetriever(collection, model)
    hybrid = HybridRetriever(dense, index, default_weight=default_weight)
    if cache is None:
        return hybrid
    state = search_state(cache, collection, index, default_weight=default_weight)
    return CachedRetriever(hybrid, cache, state)


def search_state(
    cache: ServingCache, collection: Any, index: ChromaBm25, *, default_weight: float = 0.0
) -> SearchState:
    """What searches in a collection depend on, by the cache's own setting or Chroma's word."""
    version = cache.config.collection_version or collection_version
    return SearchState(
        documents=partial(version, collection),
        words=lambda: identity_of(index.current_index()),
        default_weight=default_weight,
    )
