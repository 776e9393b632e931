"""A retriever joined with BM25 over the same documents: rankings fused at a weight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.fusion import ScoredWords, depth_of
from rl_rewriter.retrieval.protocols import (
    CollectionRetriever,
    DocumentColumns,
    FilterList,
    Fingerprinted,
    VectorSource,
)
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import (
    Filters,
    Matrix,
    Needs,
    Ranking,
    Rewrite,
)


class LexicalIndex(Protocol):
    """A BM25 index over the same documents, with the same filters."""

    def current_index(self) -> Bm25Index:
        """The index as of now."""
        ...

    def allowed(self, filters: Filters | None, index: Bm25Index) -> npt.NDArray[np.bool_] | None:
        """Which documents a filter lets through; None for all."""
        ...

    def refresh(self) -> None:
        """Compare all texts with the index and rebuild it where they differ."""
        ...


class HybridRetriever:
    """Adds BM25 evidence and fusion to a base retriever.

    A rewrite with ``lexical_weight`` w is searched in both; over the union of the first documents
    of both (100 of BM25's, :func:`~rl_rewriter.retrieval.fusion.depth_of` of the base's) each score
    is min-max normalised per query, and a document's score is ``(1 - w) base + w bm25`` (convex
    combination: Bruch et al., 2023, arXiv 2210.11934). Documents that the base ranking lacks count
    as its lowest. All other rewrites go to the base untouched.

    Args:
        base: The retriever.
        lexical: BM25 over the same documents.
        default_weight: Weight used for rewrites that name none and don't refuse it: above 0, this
            is a hybrid search whose "keep" is fused as well.
    """

    def __init__(
        self, base: CollectionRetriever, lexical: LexicalIndex, *, default_weight: float = 0.0
    ) -> None:
        self.base = base
        self.name = "hybrid" if default_weight > 0 else base.name
        self.offers = _with_lexical(base.offers)
        self._vector_source = base if isinstance(base, VectorSource) else None
        self._index = lexical
        self._default_weight = default_weight

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`."""
        restrictions = list(filters) if filters is not None else [None] * len(rewrites)
        weights = [self._weight_of(rewrite) for rewrite in rewrites]
        plain = [row for row, weight in enumerate(weights) if weight == 0]
        fused = [row for row, weight in enumerate(weights) if weight > 0]
        rankings: dict[int, Ranking] = {}
        if plain:
            found = self.base.search(
                [rewrites[row] for row in plain],
                k=k,
                filters=[restrictions[row] for row in plain],
                with_documents=with_documents,
            )
            rankings.update(zip(plain, found, strict=True))
        if fused:
            found = self._fused(
                [rewrites[row] for row in fused],
                [weights[row] for row in fused],
                [restrictions[row] for row in fused],
                k,
            )
            for row, ranking in zip(fused, found, strict=True):
                rankings[row] = self._with_documents(ranking) if with_documents else ranking
        return [rankings[row] for row in range(len(rewrites))]

    def lexical(
        self, texts: Sequence[str], *, k: int, filters: FilterList | None = None
    ) -> list[Ranking]:
        """BM25 rankings, one a text."""
        index = self._index.current_index()
        masks = self._masks(filters or [None] * len(texts), index)
        return [
            index.top(Rewrite(texts=(text,)), k, mask)
            for text, mask in zip(texts, masks, strict=True)
        ]

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings by the base retriever."""
        return self._vectors().embed_queries(texts)

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        """Document embeddings by the base retriever."""
        return self._vectors().document_vectors(ids)

    @property
    def n_documents(self) -> int:
        """Number of documents of the base retriever."""
        return self.base.n_documents

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata of documents by the base retriever."""
        return self.base.documents(ids)

    def fingerprint(self) -> str | None:
        """Hash of the base retriever's and of the weight; None where the base has none."""
        known = self.base.fingerprint() if isinstance(self.base, Fingerprinted) else None
        if known is None:
            return None
        return digest([known, str(self._default_weight)])

    def statistics(self) -> CollectionStatistics:
        """Term weights of the collection."""
        return self.base.statistics()

    def refresh(self) -> None:
        """Notice texts that were edited in place; additions and deletions are noticed anyway."""
        self._index.refresh()

    def _fused(
        self, rewrites: Sequence[Rewrite], weights: Sequence[float], filters: FilterList, k: int
    ) -> list[Ranking]:
        found = self._bases(rewrites, filters, k)
        if not all(np.isfinite(ranking.scores).all() for ranking in found):
            # Fused, they would leave nothing: no score is higher or lower than NaN.
            raise CollectionError(f"the {self.base.name} retriever gave scores that aren't finite")
        index = self._index.current_index()
        masks = self._masks(filters, index)
        # A text is scored once for all its weights; one text at a time, since scores of a whole
        # collection take memory.
        rows_of: dict[tuple[Rewrite, Filters | None], list[int]] = defaultdict(list)
        for row, rewrite in enumerate(rewrites):
            rows_of[rewrite.words, filters[row]].append(row)
        rankings: dict[int, Ranking] = {}
        for rows in rows_of.values():
            scored = ScoredWords.of(index, rewrites[rows[0]], masks[rows[0]])
            for row in rows:
                rankings[row] = scored.fused_with(found[row], weights[row], k)
        return [rankings[row] for row in range(len(rewrites))]

    def _bases(self, rewrites: Sequence[Rewrite], filters: FilterList, k: int) -> list[Ranking]:
        """Base rankings, each as deep as its fusion looks; the words for BM25 are fused here."""
        rows_of: dict[int, list[int]] = defaultdict(list)
        for row, rewrite in enumerate(rewrites):
            rows_of[max(k, depth_of(rewrite))].append(row)
        rankings: dict[int, Ranking] = {}
        for depth, rows in rows_of.items():
            asked = [rewrites[row].without_lexical for row in rows]
            found = self.base.search(asked, k=depth, filters=[filters[row] for row in rows])
            rankings.update(zip(rows, found, strict=True))
        return [rankings[row] for row in range(len(rewrites))]

    def _weight_of(self, rewrite: Rewrite) -> float:
        return rewrite.lexical_weight or (0.0 if rewrite.without_words else self._default_weight)

    def _vectors(self) -> VectorSource:
        if self._vector_source is None:
            raise TypeError(f"the {self.base.name} retriever has no vectors")
        return self._vector_source

    def _masks(
        self, filters: Sequence[Filters | None], index: Bm25Index
    ) -> list[npt.NDArray[np.bool_] | None]:
        distinct = {f: self._index.allowed(f, index) for f in dict.fromkeys(filters)}
        return [distinct[f] for f in filters]

    def _with_documents(self, ranking: Ranking) -> Ranking:
        """Fetch texts and metadata; documents deleted since the index was built drop out."""
        texts, metadatas = self.base.documents(ranking.ids)
        alive = [row for row, text in enumerate(texts) if text is not None]
        return Ranking(
            ids=tuple(ranking.ids[row] for row in alive),
            scores=ranking.scores[alive],
            texts=tuple(texts[row] or "" for row in alive),
            metadatas=tuple(metadatas[row] for row in alive),
        )


def _with_lexical(offers: Needs) -> Needs:
    """Adds BM25, and the vectors of BM25's documents where the base has vectors.

    Spelling is for BM25 alone: fused, its scores are no longer summed as one.
    """
    joined = (offers | Needs.LEXICAL) & ~Needs.SPELLING
    return joined | Needs.LEXICAL_VECTORS if Needs.VECTOR in joined else joined
