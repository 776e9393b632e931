"""Search in a Chroma collection, always by our own vectors and in batches."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.protocols import DocumentColumns, Embedder, FilterList
from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.text.topics import learn_topics
from rl_rewriter.types import Filters, Matrix, Needs, Ranking, Rewrite, Vector

_QUERY_CHUNK = 1000
_GET_CHUNK = 1000


class ChromaRetriever:
    """Dense retrieval over a Chroma collection: embedded, persistent or behind HTTP.

    Scores are similarities whatever the collection's space: the cosine, the dot product, or the
    negative squared distance. In a cosine space vectors are scaled to unit length before they are
    blended, which leaves an unblended search as it was.

    Args:
        collection: A ``chromadb`` collection.
        embedder: What embeds queries; must be what embedded the documents.
    """

    name = "chroma"
    offers = (
        Needs.BLEND
        | Needs.VECTOR
        | Needs.FIRST_RANKING
        | Needs.FIRST_TEXTS
        | Needs.FIRST_VECTORS
        | Needs.HISTORY_VECTORS
    )

    def __init__(self, collection: Any, embedder: Embedder) -> None:
        self.collection = collection
        self.embedder = embedder
        self.space = distance_space(collection)

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`."""
        vectors = self.resolve(rewrites)
        # The same vector is searched once: rewrites that differ in their fusion alone share it.
        groups: defaultdict[Filters | None, dict[bytes, list[int]]] = defaultdict(dict)
        for row, vector in enumerate(vectors):
            restriction = filters[row] if filters is not None else None
            groups[restriction].setdefault(vector.tobytes(), []).append(row)
        rankings: list[Ranking | None] = [None] * len(rewrites)
        for restriction, rows_of in groups.items():
            distinct = list(rows_of.values())
            for start in range(0, len(distinct), _QUERY_CHUNK):
                chunk = distinct[start : start + _QUERY_CHUNK]
                asked = [vectors[rows[0]] for rows in chunk]
                found = self._query(asked, k, restriction, with_documents)
                for rows, ranking in zip(chunk, found, strict=True):
                    for row in rows:
                        rankings[row] = ranking
        return [ranking for ranking in rankings if ranking is not None]

    def resolve(self, rewrites: Sequence[Rewrite]) -> list[Vector]:
        """The vector that each rewrite is searched by; distinct texts are embedded once."""
        return resolve_vectors(rewrites, self.embed_queries)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of query texts, ``(n, d)``, of unit length in a cosine space."""
        return self._scaled(self.embedder.embed_queries(texts))

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        """Stored embeddings in the order of ``ids``, ``(n, d)``; zeros for unknown ids."""
        distinct = list(dict.fromkeys(ids))
        stored: dict[str, Vector] = {}
        for start in range(0, len(distinct), _GET_CHUNK):
            found = self.collection.get(
                ids=distinct[start : start + _GET_CHUNK], include=["embeddings"]
            )
            stored.update(zip(found["ids"], found["embeddings"], strict=True))
        if not stored:
            return np.zeros((len(ids), 0), dtype=np.float32)
        nothing = np.zeros(len(next(iter(stored.values()))), dtype=np.float32)
        rows = np.asarray([stored.get(id_, nothing) for id_ in ids], dtype=np.float32)
        return self._scaled(rows)

    @property
    def n_documents(self) -> int:
        """Number of documents in the collection, as of now."""
        return int(self.collection.count())

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata of documents; None for ids that the collection doesn't hold."""
        found: dict[str, tuple[str | None, Mapping[str, Any] | None]] = {}
        distinct = list(dict.fromkeys(ids))
        for start in range(0, len(distinct), _GET_CHUNK):
            page = self.collection.get(
                ids=distinct[start : start + _GET_CHUNK], include=["documents", "metadatas"]
            )
            for id_, text, metadata in zip(
                page["ids"], page["documents"], page["metadatas"], strict=True
            ):
                found[id_] = (text or "", metadata)
        rows = [found.get(id_, (None, None)) for id_ in ids]
        return tuple(text for text, _ in rows), tuple(metadata for _, metadata in rows)

    def fingerprint(self) -> str:
        """Hash of all documents with their vectors, of the embedder and of the distance."""
        content = (part for document in sorted(_contents(self.collection)) for part in document)
        return digest([self.name, self.embedder.name, self.space, *content])

    def statistics(self) -> CollectionStatistics:
        """Term weights and topics, read from all texts of the collection."""
        texts = [text for _, text in read_texts(self.collection)]
        return CollectionStatistics.from_texts(texts, learn_topics(texts))

    def _scaled(self, vectors: Matrix) -> Matrix:
        return unit_length(vectors) if self.space == "cosine" else vectors

    def _query(
        self, vectors: list[Vector], k: int, restriction: Filters | None, with_documents: bool
    ) -> list[Ranking]:
        include = ["distances"] + (["documents", "metadatas"] if with_documents else [])
        conditions: dict[str, Any] = {}
        if restriction is not None and restriction.where:
            conditions["where"] = dict(restriction.where)
        if restriction is not None and restriction.where_document:
            conditions["where_document"] = dict(restriction.where_document)
        try:
            found = self.collection.query(
                query_embeddings=np.asarray(vectors, dtype=np.float32),
                n_results=k,
                include=include,
                **conditions,
            )
        except Exception as error:
            raise CollectionError(_query_failure(self.collection, vectors, error)) from error
        rankings = []
        for row, ids in enumerate(found["ids"]):
            distances = np.asarray(found["distances"][row], dtype=np.float32)
            rankings.append(
                Ranking(
                    ids=tuple(ids),
                    scores=-distances if self.space == "l2" else 1.0 - distances,
                    texts=tuple(t or "" for t in found["documents"][row])
                    if with_documents
                    else None,
                    metadatas=tuple(found["metadatas"][row]) if with_documents else None,
                )
            )
        return rankings


def distance_space(collection: Any) -> str:
    """The collection's distance: "cosine", "l2" or "ip"."""
    configuration = getattr(collection, "configuration", None) or {}
    for index in ("hnsw", "spann"):
        settings = configuration.get(index) or {}
        if settings.get("space"):
            return str(settings["space"])
    return str((collection.metadata or {}).get("hnsw:space", "l2"))


def read_texts(collection: Any, *, page: int = 5000) -> Iterator[tuple[str, str]]:
    """Ids and texts of all documents, page by page, "" where a document has no text."""
    offset = 0
    while True:
        found = collection.get(include=["documents"], limit=page, offset=offset)
        for id_, text in zip(found["ids"], found["documents"], strict=True):
            yield id_, text or ""
        if len(found["ids"]) < page:
            return
        offset += page


def _contents(collection: Any) -> Iterator[tuple[str, str]]:
    """Id and digest of each document: its text, its metadata and its vector, page by page."""
    offset = 0
    while True:
        found = collection.get(
            include=["documents", "metadatas", "embeddings"], limit=_GET_CHUNK, offset=offset
        )
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        for id_, text, metadata, vector in zip(
            found["ids"], found["documents"], found["metadatas"], vectors, strict=True
        ):
            filtered_by = json.dumps(metadata, sort_keys=True, default=str)
            yield id_, digest([text or "", filtered_by, vector.tobytes().hex()])
        if len(found["ids"]) < _GET_CHUNK:
            return
        offset += _GET_CHUNK


def unit_length(vectors: Matrix) -> Matrix:
    """Rows ``(n, d)`` scaled to length 1; zero rows stay zero."""
    if not vectors.size:
        return vectors
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def _query_failure(collection: Any, vectors: list[Vector], error: Exception) -> str:
    stored = None
    with suppress(Exception):  # where the collection can't be reached, that is the error to tell
        stored = collection.peek(1)["embeddings"]
    size = len(vectors[0]) if vectors else 0
    if stored is not None and len(stored) and len(stored[0]) != size:
        return (
            f"collection {collection.name!r} holds vectors of {len(stored[0])} numbers but the "
            f"embedder makes {size}; pass the embedder that the documents were added with"
        )
    return f"collection {collection.name!r} could not be searched: {error}"
