"""What LlamaIndex requests share: embeddings and searches of earlier ones, in the serving cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rl_rewriter.caching.identity import identity_of
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.cached import CachedRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.over_chroma import search_state
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.serving_embedder import embedding_scope
from rl_rewriter.retrieval.vector_sizes import RightSize
from rl_rewriter.text.digests import digest


class CachedModel:
    """An index's embedding model whose query embeddings are kept, as exactly as it gave them.

    Args:
        model: The model; where it has no name, nothing is kept.
        cache: Where they are kept.
        size: As for :class:`rl_rewriter.retrieval.serving_embedder.ServingEmbedder`.
    """

    def __init__(
        self, model: Any, cache: ServingCache, *, size: Callable[[], int | None] = lambda: None
    ) -> None:
        self._model = model
        self._cache = cache
        self._size = size
        self.get_text_embedding_batch = model.get_text_embedding_batch

    def get_agg_embedding_from_queries(self, queries: list[str]) -> list[float]:
        """Embedding of a query given as several texts."""
        scope = embedding_scope(self._model)
        if scope is None:
            found: list[float] = self._model.get_agg_embedding_from_queries(queries)
            return found

        sound: list[bool] = []
        right = RightSize(scope, self._size())

        def embedded(_: list[int]) -> list[Any]:
            made = np.asarray(self._model.get_agg_embedding_from_queries(queries), np.float64)
            sound.append(made.ndim == 1 and len(made) > 0 and right.may_keep(made[None]))
            return [made]

        key = ("aggregated", scope, digest(queries))
        [vector] = self._cache.get_many([key], embedded, is_current=lambda: all(sound))
        if not sound and vector.shape != (right.expected,):  # another model under the same name
            [vector] = embedded([0])
        numbers: list[float] = vector.tolist()
        return numbers


def cached_search(
    cache: ServingCache, retriever: Retriever, index: ChromaBm25, collection: Any, model: Any
) -> Retriever:
    """A request's retriever whose results later requests find.

    Those for the same client, collection, BM25 index and embedding model do: routes are made anew
    for each request.
    """
    owners = (getattr(collection, "_client", None), index.kept, model)
    marks = tuple(identity_of(owner) for owner in owners)
    if None in marks:
        return retriever
    scope = ("llama_index", *marks, str(collection.id))
    state = search_state(cache, collection, index)
    return CachedRetriever(retriever, cache, state, scope=scope)
