"""What the rest of the package asks of a retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Filters, Matrix, Needs, Ranking, Rewrite

FilterList = Sequence[Filters | None]
DocumentColumns = tuple[tuple[str | None, ...], tuple[Mapping[str, Any] | None, ...]]
"""Texts and metadata, one entry an id."""


@runtime_checkable
class Retriever(Protocol):
    """A batched search over one collection."""

    @property
    def name(self) -> str:
        """Short name for tables and logs."""
        ...

    @property
    def offers(self) -> Needs:
        """What actions and features may ask of this retriever."""
        ...

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """Search all rewrites in one go.

        Args:
            rewrites: What to search for, ``n`` of them.
            k: Documents wanted for each.
            filters: One restriction a rewrite, or None for none at all.
            with_documents: Whether rankings carry texts and metadata.

        Returns:
            ``n`` rankings of at most ``k`` documents, best first; empty where nothing is found.

        Raises:
            CollectionError: The collection cannot be searched this way, or not at all.
        """
        ...

    def statistics(self) -> CollectionStatistics:
        """Term weights of the collection; empty statistics where texts cannot be read."""
        ...


@runtime_checkable
class VectorSource(Protocol):
    """A retriever that can tell vectors."""

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of query texts, ``(n, d)``, each distinct text embedded once."""
        ...

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        """Embeddings of documents in the order of ``ids``, ``(n, d)``; zeros for unknown ids."""
        ...


@runtime_checkable
class DocumentSource(Protocol):
    """A retriever whose documents can be counted, and fetched by id."""

    @property
    def n_documents(self) -> int:
        """Number of documents in the collection, as of now."""
        ...

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata in the order of ``ids``; None for unknown ids."""
        ...


class CollectionRetriever(Retriever, DocumentSource, Protocol):
    """A retriever over a collection that can be counted and read."""


@runtime_checkable
class Fingerprinted(Protocol):
    """A retriever that can tell whether two collections are searched alike."""

    def fingerprint(self) -> str | None:
        """Hash of all ids and texts, of the embedder and of the settings of the search.

        None where it cannot be told.
        """
        ...


@runtime_checkable
class Refreshable(Protocol):
    """A retriever that keeps something beside the collection, such as an index of its texts."""

    def refresh(self) -> None:
        """Bring it up to date with the collection."""
        ...


@runtime_checkable
class LexicalSource(Protocol):
    """A retriever that can also rank the same documents by BM25."""

    def lexical(
        self, texts: Sequence[str], *, k: int, filters: FilterList | None = None
    ) -> list[Ranking]:
        """BM25 rankings, one a text.

        Some texts ask to count words that are spelt alike
        (:func:`~rl_rewriter.text.alike.asks_alike`); their words are the same to an index that
        doesn't.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Names model and version; part of the key under which vectors are cached."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of documents, ``(n, d)`` float32."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of queries, ``(n, d)`` float32."""
        ...
