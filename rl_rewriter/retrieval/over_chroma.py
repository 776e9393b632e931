"""The retriever that stands over a user's Chroma collection: dense search and BM25, joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.hybrid import HybridRetriever


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
