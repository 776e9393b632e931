"""A retriever whose searches are kept for as long as its collection stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.protocols import (
    DocumentColumns,
    DocumentSource,
    FilterList,
    Fingerprinted,
    LexicalSource,
    Refreshable,
    Retriever,
    VectorSource,
)
from rl_rewriter.retrieval.search_keys import filter_key, rewrite_key
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Filters, Matrix, Ranking, Rewrite

MAX_AT_ONCE = 64
"""Larger batches are training's or a benchmark's: searched seldom twice, so they aren't kept."""

Key = tuple[Hashable, ...]
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """What else the searches of a retriever depend on.

    Attributes:
        documents: Tells the state of the collection: equal as long as every search finds the same;
            None where that can't be told. Asked before each search and after it.
        words: Tells the BM25 index that answers now, brought up to date where that is due; None
            where the retriever has none.
        default_weight: BM25's share where a rewrite names none.
    """

    documents: Callable[[], Hashable | None]
    words: Callable[[], Hashable | None] | None = None
    default_weight: float = 0.0


class CachedRetriever:
    """Wraps a retriever and keeps what it finds, for each single search.

    A search is known by this retriever, the state of the collection, the BM25 index where it is
    used, the restriction, everything that is searched, and the number of documents. Where the state
    can't be told, or a restriction has no canonical form, the wrapped retriever is asked each time.
    Of a batch only those searches are made whose results aren't there. Callers get rankings of
    their own, which they may change.

    Args:
        base: The retriever.
        cache: Where results are kept; others may use it too.
        state: What else its searches depend on.
        scope: What results belong to, where several wrappers stand for one retriever over one
            collection and embedder; by default this wrapper alone.
    """

    def __init__(
        self,
        base: Retriever,
        cache: ServingCache,
        state: SearchState,
        *,
        scope: Hashable | None = None,
    ) -> None:
        self.base = base
        self.name = base.name
        self.offers = base.offers
        self._cache = cache
        self._state = state
        self._scope = object() if scope is None else scope

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`."""
        by_default = self._state.default_weight > 0
        fused = [r.lexical_weight > 0 or (by_default and not r.without_words) for r in rewrites]
        told = [
            (rewrite_key(r), k, with_documents, f) for r, f in zip(rewrites, fused, strict=True)
        ]

        def searched(rows: list[int]) -> Sequence[Ranking]:
            return self.base.search(
                [rewrites[row] for row in rows],
                k=k,
                filters=None if filters is None else [filters[row] for row in rows],
                with_documents=with_documents,
            )

        return self._rankings("search", told, filters, searched, words=any(fused))

    def lexical(
        self, texts: Sequence[str], *, k: int, filters: FilterList | None = None
    ) -> list[Ranking]:
        """BM25 rankings by the wrapped retriever, one a text."""
        source = cast(LexicalSource, self._as(LexicalSource, "BM25 ranking"))

        def ranked(rows: list[int]) -> Sequence[Ranking]:
            restrictions = None if filters is None else [filters[row] for row in rows]
            return source.lexical([texts[row] for row in rows], k=k, filters=restrictions)

        told = [(digest([text]), k) for text in texts]
        return self._rankings("lexical", told, filters, ranked, words=True)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings by the wrapped retriever, which keeps them or not."""
        return self._vectors().embed_queries(texts)

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        """Document embeddings by the wrapped retriever."""
        source = self._vectors()
        version = self._version(words=False)
        if version is None or len(ids) > MAX_AT_ONCE:
            return source.document_vectors(ids)
        sound: list[bool] = []

        def fetched(_: list[int]) -> list[Matrix]:
            vectors = source.document_vectors(ids).copy()
            sound.append(len(vectors) == len(ids) and bool(np.isfinite(vectors).all()))
            return [vectors]

        [vectors] = self._cache.get_many(
            [("vectors", self._scope, version, tuple(ids))],
            fetched,
            is_current=lambda: all(sound) and self._version(words=False) == version,
        )
        return cast(Matrix, vectors.copy())

    @property
    def n_documents(self) -> int:
        """Number of documents of the wrapped retriever."""
        return self._documents().n_documents

    def documents(self, ids: Sequence[str]) -> DocumentColumns:
        """Texts and metadata by the wrapped retriever."""
        return self._documents().documents(ids)

    def fingerprint(self) -> str | None:
        """That of the wrapped retriever; None where it has none."""
        return self.base.fingerprint() if isinstance(self.base, Fingerprinted) else None

    def statistics(self) -> CollectionStatistics:
        """Term weights of the collection."""
        return self.base.statistics()

    def refresh(self) -> None:
        """Bring what the wrapped retriever keeps beside the collection up to date."""
        if isinstance(self.base, Refreshable):
            self.base.refresh()

    def _rankings(
        self,
        kind: str,
        told: Sequence[Key],
        filters: FilterList | None,
        compute: Callable[[list[int]], Sequence[Ranking]],
        *,
        words: bool,
    ) -> list[Ranking]:
        """Kept or computed rankings; ``told`` says what each search is beside its filter."""
        keys = self._keys(kind, told, filters, words=words)
        if keys is None:
            return list(compute(list(range(len(told)))))
        version = keys[0][2]
        sound: list[bool] = []

        def computed(rows: list[int]) -> list[Ranking]:
            rankings = [_own(ranking) for ranking in compute(rows)]
            sound.extend(map(_is_sound, rankings))
            return rankings

        found = self._cache.get_many(
            keys,
            computed,
            is_current=lambda: all(sound) and self._version(words=words) == version,
        )
        return [_own(ranking) for ranking in found]

    def _keys(
        self, kind: str, told: Sequence[Key], filters: FilterList | None, *, words: bool
    ) -> list[Key] | None:
        """One key a search; None where these may not be kept."""
        if not told or len(told) > MAX_AT_ONCE:
            return None
        version = self._version(words=words)
        restrictions: Sequence[Filters | None] = filters or [None] * len(told)
        allowed = [filter_key(restriction) for restriction in restrictions]
        if version is None or None in allowed:
            return None
        pairs = zip(told, allowed, strict=True)
        return [(kind, self._scope, version, allowed_, *parts) for parts, allowed_ in pairs]

    def _version(self, *, words: bool) -> Hashable | None:
        """State of all that is searched; None where a part of it can't be told."""
        sources = [self._state.documents]
        if words and self._state.words is not None:
            sources = [self._state.words, *sources]
        try:
            versions = tuple(source() for source in sources)
            hash(versions)
        except Exception:  # who can't tell the state doesn't make a search fail
            return None
        return None if None in versions else versions

    def _vectors(self) -> VectorSource:
        return cast(VectorSource, self._as(VectorSource, "vectors"))

    def _documents(self) -> DocumentSource:
        return cast(DocumentSource, self._as(DocumentSource, "documents"))

    def _as(self, protocol: type[Any], what: str) -> Any:
        if not isinstance(self.base, protocol):
            raise TypeError(f"the {self.base.name} retriever has no {what}")
        return self.base


def _own(ranking: Ranking) -> Ranking:
    """A copy that shares nothing that could be changed."""
    metadatas = ranking.metadatas
    return Ranking(
        ids=ranking.ids,
        scores=ranking.scores.copy(),
        texts=ranking.texts,
        metadatas=None if metadatas is None else tuple(map(_own_metadata, metadatas)),
        vectors=None if ranking.vectors is None else ranking.vectors.copy(),
    )


def _is_sound(ranking: Ranking) -> bool:
    """Whether it may be kept: what a faulty store answered once isn't to be answered for a day."""
    columns = (ranking.scores, ranking.texts, ranking.metadatas)
    lengths = {len(column) for column in columns if column is not None}
    return lengths == {len(ranking.ids)} and bool(np.isfinite(ranking.scores).all())


def _own_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if metadata is None:
        return None
    return {
        key: value if isinstance(value, _SCALARS) else copy.deepcopy(value)
        for key, value in metadata.items()
    }
