"""BM25 as a retriever of its own, over documents held in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.protocols import DocumentColumns, FilterList
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.text.topics import learn_topics
from rl_rewriter.types import Filters, Needs, Ranking, Rewrite


def refuse_filters(name: str, filters: FilterList | None) -> None:
    """Raise where a restriction would be dropped silently."""
    if filters is not None and any(f is not None for f in filters):
        raise InputError(
            f"the {name} retriever keeps no metadata and cannot filter; use a Chroma collection"
        )


class Bm25Retriever:
    """Searches by BM25 alone: by a rewrite's texts, and by its words for BM25 as far as they weigh.

    Args:
        documents: Document id -> text.

    Raises:
        CollectionError: There are no documents.
    """

    name = "bm25"
    offers = Needs.BLEND | Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.SPELLING

    def __init__(self, documents: Mapping[str, str]) -> None:
        if not documents:
            raise CollectionError("the collection holds no documents; add some before searching it")
        self._documents = dict(documents)
        self._index = Bm25Index(tuple(self._documents), tuple(self._documents.values()))

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`."""
        refuse_filters(self.name, filters)
        rankings = [self._index.top(_mixed(rewrite), k) for rewrite in rewrites]
        return [self._with_texts(r) for r in rankings] if with_documents else rankings

    def current_index(self) -> Bm25Index:
        """The index itself, for fusion."""
        return self._index

    def allowed(self, filters: Filters | None, index: Bm25Index) -> npt.NDArray[np.bool_] | None:
        """No restriction: documents in memory have no metadata."""
        refuse_filters(self.name, [filters])
        return None

    def refresh(self) -> None:
        """Documents in memory don't change."""

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self._documents)

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata of documents; None for unknown ids."""
        return tuple(self._documents.get(id_) for id_ in ids), (None,) * len(ids)

    def fingerprint(self) -> str:
        """Hash of all ids and texts."""
        return digest([self.name, *(part for item in self._documents.items() for part in item)])

    def statistics(self) -> CollectionStatistics:
        """Term weights and topics of the collection."""
        texts = list(self._documents.values())
        return CollectionStatistics.from_texts(texts, learn_topics(texts))

    def _with_texts(self, ranking: Ranking) -> Ranking:
        texts = tuple(self._documents[id_] for id_ in ranking.ids)
        return Ranking(ranking.ids, ranking.scores, texts, (None,) * len(texts))


def _mixed(rewrite: Rewrite) -> Rewrite:
    """All that BM25 is to score, as one mix."""
    share = rewrite.lexical_weight
    if not share:
        return rewrite
    words = rewrite.words
    weights = [(1.0 - share) * weight for weight in rewrite.weights]
    weights += [share * weight for weight in words.weights]
    return Rewrite(texts=(*rewrite.texts, *words.texts), weights=tuple(weights))
