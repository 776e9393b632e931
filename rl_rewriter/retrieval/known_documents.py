"""A user's own retriever over documents that are known from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.foreign import ForeignRetriever
from rl_rewriter.retrieval.protocols import (
    CollectionRetriever,
    DocumentColumns,
    DocumentSource,
    FilterList,
    Retriever,
)
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.text.topics import learn_topics
from rl_rewriter.types import Needs, Ranking, Rewrite


class KnownDocuments:
    """Adds what is known about the documents to a retriever that tells none of it.

    Args:
        retriever: Searches them.
        documents: Document id -> text.
    """

    def __init__(self, retriever: ForeignRetriever, documents: Mapping[str, str]) -> None:
        self.name = retriever.name
        self.offers = retriever.offers | (Needs.FIRST_TEXTS if documents else Needs.NOTHING)
        self._retriever = retriever
        self._documents = documents

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`ForeignRetriever.search`; texts are those of the whole documents."""
        found = self._retriever.search(
            rewrites, k=k, filters=filters, with_documents=with_documents
        )
        return [self._with_texts(ranking) for ranking in found] if with_documents else found

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self._documents)

    @property
    def note(self) -> str | None:
        """What to know about the retriever's figures; None where there is nothing."""
        return self._retriever.note

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata of documents; None for unknown ids."""
        return tuple(self._documents.get(id_) for id_ in ids), (None,) * len(ids)

    def statistics(self) -> CollectionStatistics:
        """Term weights and topics of the collection."""
        texts = list(self._documents.values())
        return CollectionStatistics.from_texts(texts, learn_topics(texts))

    def _with_texts(self, ranking: Ranking) -> Ranking:
        told = ranking.texts or ("",) * len(ranking)
        texts = tuple(
            self._documents.get(id_, text) for id_, text in zip(ranking.ids, told, strict=True)
        )
        return Ranking(ranking.ids, ranking.scores, texts, ranking.metadatas)


def over_documents(
    source: Any, documents: Mapping[str, str], name: str = ""
) -> CollectionRetriever:
    """The user's own retriever over documents that are known.

    Args:
        source: What :class:`ForeignRetriever` takes, or a retriever of our own Protocol, which is
            taken as it is.
        documents: Document id -> text; empty where nothing is known, and any id is believed then.
        name: For tables.

    Raises:
        InputError: The source is no retriever.
    """
    if isinstance(source, Retriever) and not isinstance(source, type):
        if isinstance(source, DocumentSource):
            return source
        raise InputError(
            f"the retriever {source.name} has no n_documents and documents(ids), which are needed "
            "to judge what it finds"
        )
    foreign = ForeignRetriever(source, name=name, known_ids=documents or None)
    return KnownDocuments(foreign, documents)
