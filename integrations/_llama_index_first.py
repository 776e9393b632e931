"""The first ranking of a query, kept as Chroma answered it, for the wrapped retriever to find."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from llama_index.core.retrievers import VectorIndexRetriever

from rl_rewriter.types import Filters, Vector

_COLUMNS = ("ids", "documents", "metadatas", "distances")


class FirstSearch:
    """A collection that remembers one search: that of the query as it was asked.

    It is made with the embedding as the model gave it, which is what the wrapped retriever would
    search by: our own vectors are scaled, and the last digits of a distance would differ.

    Args:
        collection: A ``chromadb`` collection.
        known: Text -> embedding, as the model gave it.
    """

    def __init__(self, collection: Any, known: Mapping[str, list[float]]) -> None:
        self._collection = collection
        self._known = known
        self._text = ""
        self._asked: tuple[list[float], Filters, int] | None = None
        self._answer: Mapping[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Everything else is the collection's."""
        return getattr(self._collection, name)

    def expect(self, text: str) -> None:
        """The query whose search is to be remembered."""
        self._text = text

    def query(self, *, query_embeddings: Any, n_results: int, **settings: Any) -> Any:
        """As the collection's own."""
        raw = self._known.get(self._text)
        is_first = self._asked is None and raw is not None and "documents" in settings["include"]
        if not is_first or raw is None or not _is_along(query_embeddings, raw):
            return self._collection.query(
                query_embeddings=query_embeddings, n_results=n_results, **settings
            )
        found = self._collection.query(query_embeddings=raw, n_results=n_results, **settings)
        self._answer, self._asked = found, (raw, _restriction(settings), n_results)
        return found

    def serving(self, base: VectorIndexRetriever) -> VectorIndexRetriever | None:
        """The retriever as it is, finding what was found; None where nothing was."""
        if self._asked is None:
            return None
        serving, store = copy.copy(base), copy.copy(base._vector_store)
        store._collection = _Answered(self._collection, *self._asked, self._answer)  # type: ignore[attr-defined]  # ChromaVectorStore's
        serving._vector_store = store
        return serving


class _Answered:
    """A collection that knows the answer to one search, and to the same one for fewer documents."""

    def __init__(
        self,
        collection: Any,
        vector: list[float],
        filters: Filters,
        depth: int,
        answer: Mapping[str, Any],
    ) -> None:
        self._collection = collection
        self._vector, self._filters, self._depth = vector, filters, depth
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def query(self, *, query_embeddings: Any, n_results: int, **settings: Any) -> Any:
        is_known = (
            isinstance(query_embeddings, list)
            and query_embeddings == self._vector
            and n_results <= self._depth
            and not settings.keys() - {"where", "where_document"}
            and _restriction(settings) == self._filters
        )
        if not is_known:
            return self._collection.query(
                query_embeddings=query_embeddings, n_results=n_results, **settings
            )
        return {column: [self._answer[column][0][:n_results]] for column in _COLUMNS}


def _restriction(settings: Mapping[str, Any]) -> Filters:
    return Filters(settings.get("where") or None, settings.get("where_document") or None)


def _is_along(vectors: Any, raw: list[float]) -> bool:
    """Whether one vector is searched, and has the direction of the raw embedding."""
    if not isinstance(raw, list) or np.shape(vectors) != (1, len(raw)):
        return False
    asked: Vector = np.asarray(vectors[0], dtype=np.float32)
    other = np.asarray(raw, dtype=np.float32)
    if np.array_equal(asked, other):
        return True
    norm = np.sqrt(other @ other)
    return bool(np.abs(asked * norm - other).max() <= 1e-4 * norm)
