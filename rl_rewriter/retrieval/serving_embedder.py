"""Query embeddings kept in memory, so that a question that comes again isn't embedded again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from rl_rewriter.caching.identity import identity_of
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.cached import MAX_AT_ONCE
from rl_rewriter.retrieval.embedders import as_embedder, named_model
from rl_rewriter.retrieval.vector_sizes import RightSize
from rl_rewriter.text.digests import digest
from rl_rewriter.types import Matrix

_NO_NAMES = ("", "unknown")
"""The second is what LlamaIndex calls a model that wasn't named."""


def embedding_scope(model: Any) -> Hashable | None:
    """What the embeddings of a model are known by: the object, and the model that it names now.

    None where it names none, or can't be told from others: its embeddings may not be kept. The
    object counts beside the name, since a name needn't tell all of a model's settings.
    """
    name, identity = named_model(model), identity_of(model)
    return (identity, name) if name not in _NO_NAMES and identity is not None else None


class ServingEmbedder:
    """Wraps what embeds queries with a cache; documents are passed through.

    For training there is :class:`rl_rewriter.retrieval.embedding_cache.CachedEmbedder`, on disk.

    Args:
        source: As for :func:`rl_rewriter.retrieval.embedders.as_embedder`. Where it names no model
            (an attribute ``model_name``, ``model``, ``model_id`` or ``name``), nothing is kept.
        cache: Where vectors are kept.
        size: Tells how many numbers a vector must have, such as
            :func:`rl_rewriter.retrieval.vector_sizes.vector_size` of the collection searched; where
            it is None, or says None, the model's last vectors tell. Others are handed out, for
            whoever searches to refuse, and never kept.

    Raises:
        InputError: The object cannot embed.
    """

    def __init__(
        self, source: Any, cache: ServingCache, *, size: Callable[[], int | None] | None = None
    ) -> None:
        self._embedder = as_embedder(source)
        self._source = self._embedder if isinstance(source, str) else source
        self._cache = cache
        self._size = size
        self.name = self._embedder.name

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of documents, ``(n, d)`` float32."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of queries, ``(n, d)`` float32."""
        scope = embedding_scope(self._source)
        if scope is None or not texts or len(texts) > MAX_AT_ONCE:
            return self._embedder.embed_queries(texts)
        right = RightSize(scope, None if self._size is None else self._size())
        sound: list[bool] = []

        def embedded(rows: list[int]) -> list[Any]:
            vectors = self._embedder.embed_queries([texts[row] for row in rows])
            sound.append(right.may_keep(vectors))
            return [vector.copy() for vector in vectors]

        keys = [("embedding", scope, digest([text])) for text in texts]
        vectors = self._cache.get_many(keys, embedded, is_current=lambda: all(sound))
        sizes = {len(vector) for vector in vectors}
        is_outdated = not sound and sizes != {right.expected}
        if is_outdated or len(sizes) > 1:  # another model under the same name
            found = self._embedder.embed_queries(texts)
            right.may_keep(found)
            return found
        return np.stack(vectors)
