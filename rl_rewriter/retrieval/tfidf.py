"""TF-IDF over character n-grams: a retriever without a model, for tests and experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rl_rewriter.errors import CollectionError, MissingExtraError
from rl_rewriter.retrieval.in_memory import refuse_filters
from rl_rewriter.retrieval.protocols import DocumentColumns, FilterList
from rl_rewriter.retrieval.ranking import top_ranking
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.text.topics import learn_topics
from rl_rewriter.types import Needs, Ranking, Rewrite

_CHUNK_CELLS = 20_000_000


class TfidfRetriever:
    """Cosine over TF-IDF of character n-grams within words (scikit-learn's ``char_wb``).

    Args:
        documents: Document id -> text.
        ngram_range: Shortest and longest n-gram.

    Raises:
        CollectionError: There are no documents.
        MissingExtraError: scikit-learn isn't installed.
    """

    name = "tfidf"
    offers = Needs.BLEND | Needs.FIRST_RANKING | Needs.FIRST_TEXTS

    def __init__(
        self, documents: Mapping[str, str], *, ngram_range: tuple[int, int] = (1, 2)
    ) -> None:
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError as error:
            raise MissingExtraError("scikit-learn", "train") from error
        if not documents:
            raise CollectionError("the collection holds no documents; add some before searching it")
        self._documents = dict(documents)
        self._ids = tuple(self._documents)
        self._vectorizer = TfidfVectorizer(
            analyzer="char_wb", ngram_range=ngram_range, dtype=np.float32
        )
        self._weights: Any = self._vectorizer.fit_transform(self._documents.values()).T.tocsc()

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
        rankings: list[Ranking] = []
        chunk = max(1, _CHUNK_CELLS // len(self._ids))
        for start in range(0, len(rewrites), chunk):
            scores = self._vectors(rewrites[start : start + chunk]) @ self._weights
            rankings.extend(top_ranking(self._ids, row, k) for row in scores.toarray())
        return [self._with_texts(r) for r in rankings] if with_documents else rankings

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self._documents)

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata of documents; None for unknown ids."""
        return tuple(self._documents.get(id_) for id_ in ids), (None,) * len(ids)

    def fingerprint(self) -> str:
        """Hash of all ids and texts, and of the length of n-grams."""
        content = (part for item in self._documents.items() for part in item)
        return digest([self.name, str(self._vectorizer.ngram_range), *content])

    def statistics(self) -> CollectionStatistics:
        """Term weights and topics of the collection."""
        texts = list(self._documents.values())
        return CollectionStatistics.from_texts(texts, learn_topics(texts))

    def _vectors(self, rewrites: Sequence[Rewrite]) -> Any:
        from scipy.sparse import csr_matrix

        texts = [text for rewrite in rewrites for text in rewrite.texts]
        rows = [row for row, rewrite in enumerate(rewrites) for _ in rewrite.texts]
        weights = [weight for rewrite in rewrites for weight in rewrite.weights]
        mix = csr_matrix(
            (np.asarray(weights, dtype=np.float32), (rows, range(len(texts)))),
            shape=(len(rewrites), len(texts)),
        )
        return mix @ self._vectorizer.transform(texts)

    def _with_texts(self, ranking: Ranking) -> Ranking:
        texts = tuple(self._documents[id_] for id_ in ranking.ids)
        return Ranking(ranking.ids, ranking.scores, texts, (None,) * len(texts))
