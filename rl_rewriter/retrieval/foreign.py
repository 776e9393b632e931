"""A retriever of the user's own (LangChain, LlamaIndex, a function) as one of ours, by text."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.retrieval.foreign_results import Found, as_search
from rl_rewriter.retrieval.protocols import FilterList
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Needs, Ranking, Rewrite, Vector

_logger = logging.getLogger(__name__)


class ForeignRetriever:
    """Searches through a retriever that takes a text and gives documents.

    It offers its first ranking and its texts, and neither mixes of texts nor vectors: those that a
    vector store behind it could search aren't reached from here. Scores are those told, where they
    fall from rank to rank; else they are reciprocal ranks, which say nothing about a query.

    LangChain and LlamaIndex retrievers bring their own number of documents (``search_kwargs={"k":
    10}``, ``similarity_top_k=10``): more than asked for are cut, fewer are what there is. Where it
    is always fewer, :attr:`note` says so.

    Args:
        source: A LangChain retriever or another runnable that gives documents, a LlamaIndex
            retriever, or a function ``(texts, k)`` that gives a list of (id, score) pairs for each
            text, best first.
        name: For tables; the class or function by default.
        known_ids: Ids of the collection. A document may go by several (its own, one in its
            metadata, that of the document it is a chunk of): the first one that is known counts.

    Raises:
        InputError: The source is none of these.
    """

    def __init__(
        self, source: Any, *, name: str = "", known_ids: Container[str] | None = None
    ) -> None:
        self.name = name or getattr(source, "__name__", None) or type(source).__name__
        self._search, has_texts = as_search(source)
        self._known_ids = known_ids
        self._finds_known = False
        self._most_asked = self._most_found = 0
        self.offers = Needs.FIRST_RANKING | (Needs.FIRST_TEXTS if has_texts else Needs.NOTHING)

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`.

        Each distinct text is searched once.

        Raises:
            InputError: A filter is given: it couldn't be passed on.
            CollectionError: A rewrite is more than a text, or the retriever fails, or gives
                documents without an id, or none that is in the collection.
        """
        self._refuse(rewrites, filters)
        texts = list(dict.fromkeys(rewrite.text for rewrite in rewrites))
        found = dict(zip(texts, self._found(texts, k), strict=True)) if texts else {}
        rankings = {text: self._ranking(hits, k, with_documents) for text, hits in found.items()}
        self._check_ids(list(rankings.values()))
        self._watch(rankings, k)
        return [rankings[rewrite.text] for rewrite in rewrites]

    def statistics(self) -> CollectionStatistics:
        """No texts can be read, so there are no term weights (see :class:`KnownDocuments`)."""
        return CollectionStatistics()

    @property
    def note(self) -> str | None:
        """What to know about its figures; None where there is nothing."""
        if not 0 < self._most_found < self._most_asked:
            return None
        return (
            f"the retriever {self.name} never gave more than {self._most_found} documents where "
            f"{self._most_asked} were asked for; set its own number of documents higher"
        )

    def _refuse(self, rewrites: Sequence[Rewrite], filters: FilterList | None) -> None:
        if filters is not None and any(f is not None for f in filters):
            raise InputError(
                f"filters cannot be passed on to the retriever {self.name}; set them on the "
                "retriever itself"
            )
        if any(len(r.texts) > 1 or r.vector is not None or r.lexical_weight for r in rewrites):
            raise CollectionError(
                f"the retriever {self.name} takes one text; it can search no mix, vector or fusion"
            )

    def _found(self, texts: list[str], k: int) -> list[list[Found]]:
        try:
            found = self._search(texts, k)
        except Exception as error:
            raise CollectionError(
                f"the retriever {self.name} failed ({type(error).__name__}: {error})"
            ) from error
        if len(found) != len(texts):
            raise CollectionError(
                f"the retriever {self.name} gave {len(found)} results for {len(texts)} texts"
            )
        return found

    def _ranking(self, hits: Sequence[Found], k: int, with_documents: bool) -> Ranking:
        """The first ``k`` documents; of several chunks of one document, the best."""
        first: dict[str, Found] = {}
        for hit in hits:
            first.setdefault(self._id(hit), hit)
        rows = list(first.values())[:k]
        ranking = Ranking(tuple(first)[:k], _scores(rows))
        if not with_documents:
            return ranking
        texts = tuple(hit.text or "" for hit in rows)
        return Ranking(ranking.ids, ranking.scores, texts, tuple(hit.metadata for hit in rows))

    def _id(self, hit: Found) -> str:
        if not hit.ids:
            raise CollectionError(
                f"the retriever {self.name} gives documents without an id; set the document's id, "
                'or "id" in its metadata'
            )
        known = self._known_ids or ()
        return next((id_ for id_ in hit.ids if id_ in known), hit.ids[0])

    def _check_ids(self, rankings: Sequence[Ranking]) -> None:
        """Refuse a retriever whose ids never are the collection's: nothing would ever be found."""
        known = self._known_ids
        if known is None or self._finds_known:
            return
        found = [id_ for ranking in rankings for id_ in ranking.ids]
        self._finds_known = any(id_ in known for id_ in found)
        if found and not self._finds_known:
            raise CollectionError(
                f"none of the {len(found)} documents that the retriever {self.name} gives is in "
                f"the collection, such as {found[0]!r}; give its documents the ids of the "
                'judgements, or put them into their metadata as "id"'
            )

    def _watch(self, rankings: Mapping[str, Ranking], k: int) -> None:
        """Notice, once, that the retriever's own number of documents is too small."""
        noted = self.note
        self._most_asked = max(self._most_asked, k)
        self._most_found = max([self._most_found, *map(len, rankings.values())])
        if noted is None and self.note is not None:
            _logger.warning("%s", self.note)


def _scores(rows: Sequence[Found]) -> Vector:
    """Scores as told where they are finite and never rise, else ``1 / rank``."""
    told = [hit.score for hit in rows]
    if None not in told:
        scores = np.asarray(told, dtype=np.float32)
        if np.isfinite(scores).all() and not (np.diff(scores) > 0).any():
            return scores
    return np.asarray(1.0 / np.arange(1, len(rows) + 1), dtype=np.float32)
