"""Are searches found again exactly where they must find the same?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.caching.store import ServingCache
from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.cached import MAX_AT_ONCE, CachedRetriever, SearchState
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.protocols import (
    DocumentSource,
    FilterList,
    Fingerprinted,
    LexicalSource,
    Refreshable,
    Retriever,
    VectorSource,
)
from rl_rewriter.retrieval.search_keys import filter_key, rewrite_key
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Filters, Matrix, Needs, Ranking, Rewrite
from tests.support import DOCUMENTS


class Store:
    """A collection whose one document tells how it was searched; keeps all searches."""

    name = "store"
    offers = Needs.FIRST_RANKING | Needs.VECTOR | Needs.LEXICAL

    def __init__(self) -> None:
        self.state: Hashable = 0
        self.index: Hashable = 0
        self.searched: list[object] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.failure: Exception | None = None

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        if self.failure is not None:
            raise self.failure
        self.meanwhile()
        self.searched.extend(rewrite.texts for rewrite in rewrites)
        return [self._ranking(rewrite.text) for rewrite in rewrites]

    def lexical(
        self, texts: Sequence[str], *, k: int, filters: FilterList | None = None
    ) -> list[Ranking]:
        self.searched.extend(texts)
        return [self._ranking(text) for text in texts]

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return np.ones((len(texts), 2), dtype=np.float32)

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        self.searched.append(tuple(ids))
        return np.full((len(ids), 2), len(self.searched), dtype=np.float32)

    def statistics(self) -> CollectionStatistics:
        return CollectionStatistics()

    def _ranking(self, text: str) -> Ranking:
        metadata = {"state": self.state, "tags": ["a", "b"]}
        return Ranking(
            (f"{text}#{len(self.searched)}",), np.ones(1, np.float32), ("t",), (metadata,)
        )


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def cache() -> ServingCache:
    return ServingCache()


def over(store: Store, cache: ServingCache, **settings: Any) -> CachedRetriever:
    weight = settings.pop("default_weight", 0.0)
    state = SearchState(
        documents=lambda: store.state, words=lambda: store.index, default_weight=weight
    )
    return CachedRetriever(store, cache, state, **settings)


VECTOR = np.asarray([0.5, 1.0], dtype=np.float32)
TENANT_A = Filters({"tenant": "a"})
DIFFERENT: dict[str, tuple[Rewrite, Filters | None, int, bool]] = {
    "plain": (Rewrite(("q",)), None, 3, False),
    "another text": (Rewrite(("q ",)), None, 3, False),
    "two texts": (Rewrite(("q", "r"), (0.5, 0.5)), None, 3, False),
    "the other way round": (Rewrite(("r", "q"), (0.5, 0.5)), None, 3, False),
    "other weights": (Rewrite(("q", "r"), (0.6, 0.4)), None, 3, False),
    "joined texts": (Rewrite(("qr",)), None, 3, False),
    "vector": (Rewrite(("q",), vector=VECTOR), None, 3, False),
    "another vector": (Rewrite(("q",), vector=VECTOR * 2), None, 3, False),
    "longer numbers": (Rewrite(("q",), vector=VECTOR.astype(np.float64)), None, 3, False),
    "fused": (Rewrite(("q",), lexical_weight=0.4), None, 3, False),
    "fused more": (Rewrite(("q",), lexical_weight=0.5), None, 3, False),
    "more documents": (Rewrite(("q",)), None, 4, False),
    "with documents": (Rewrite(("q",)), None, 3, True),
    "tenant a": (Rewrite(("q",)), TENANT_A, 3, False),
    "tenant b": (Rewrite(("q",)), Filters({"tenant": "b"}), 3, False),
    "a text's condition": (Rewrite(("q",)), Filters(None, {"tenant": "a"}), 3, False),
    "no condition": (Rewrite(("q",)), Filters(), 3, False),
    "true": (Rewrite(("q",)), Filters({"n": True}), 3, False),
    "one": (Rewrite(("q",)), Filters({"n": 1}), 3, False),
    "one point": (Rewrite(("q",)), Filters({"n": 1.0}), 3, False),
    "one written": (Rewrite(("q",)), Filters({"n": "1"}), 3, False),
}


def test_whatever_is_searched_differently_is_searched(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)

    def all_of_them() -> list[tuple[str, ...]]:
        return [
            retriever.search([rewrite], k=k, filters=[filters], with_documents=full)[0].ids
            for rewrite, filters, k, full in DIFFERENT.values()
        ]

    first = all_of_them()
    assert len(store.searched) == len(set(first)) == len(DIFFERENT)
    assert all_of_them() == first
    assert len(store.searched) == len(DIFFERENT)


def test_what_is_the_same_is_found_again(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    both = {"$and": [{"a": 1}, {"b": 2}]}
    again = [
        (Rewrite(("q",), vector=VECTOR.copy(), llm_calls=1), Filters({"x": 1, "y": both})),
        (Rewrite(("q",), vector=VECTOR), Filters({"y": both, "x": 1}, None)),
    ]
    found = [retriever.search([rewrite], k=3, filters=[f])[0].ids for rewrite, f in again]
    assert found[0] == found[1]
    assert len(store.searched) == 1
    assert retriever.search([Rewrite(("q",))], k=3)[0].ids != found[0]
    assert retriever.search([Rewrite(("q",))], k=3, filters=[None])[0].ids == ("q#2",)


def test_only_the_missing_rows_of_a_batch_are_searched(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    filters = [TENANT_A, None, TENANT_A, None]
    retriever.search([Rewrite(("b",))], k=3, filters=[None])
    rewrites = [Rewrite((text,)) for text in "abca"]
    found = retriever.search(rewrites, k=3, filters=filters)
    assert [ranking.ids[0][0] for ranking in found] == list("abca")
    assert store.searched == [("b",), ("a",), ("c",), ("a",)]
    store.searched.clear()
    assert [r.ids for r in retriever.search(rewrites, k=3, filters=filters)] == [
        ranking.ids for ranking in found
    ]
    assert store.searched == []


def test_a_change_of_the_collection_is_seen_at_once(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    for state in (1, 2, 3, 1):
        store.state = state
        [found] = retriever.search([Rewrite(("q",))], k=3)
        assert found.metadatas is not None
        assert found.metadatas[0] == {"state": state, "tags": ["a", "b"]}
    assert len(store.searched) == 3


def test_a_change_in_the_middle_of_a_search_leaves_nothing_behind(
    store: Store, cache: ServingCache
) -> None:
    retriever = over(store, cache)
    store.meanwhile = lambda: setattr(store, "state", "changed")
    retriever.search([Rewrite(("q",))], k=3)
    store.state = 0  # the state that it began with: what was found then belongs to no state
    store.meanwhile = lambda: None
    retriever.search([Rewrite(("q",))], k=3)
    assert len(store.searched) == 2


def fails() -> Hashable:
    raise OSError("the server is gone")


@pytest.mark.parametrize("documents", [lambda: None, fails, lambda: []])
def test_where_the_state_cannot_be_told_every_search_is_made(
    store: Store, cache: ServingCache, documents: Callable[[], Any]
) -> None:
    retriever = CachedRetriever(store, cache, SearchState(documents=documents))
    for _ in range(2):
        retriever.search([Rewrite(("q",))], k=3)
        retriever.lexical(["q"], k=3)
        retriever.document_vectors(["d"])
    assert len(store.searched) == 6
    assert cache.stats().entries == 0


def test_another_bm25_index_matters_where_it_is_used(store: Store, cache: ServingCache) -> None:
    plain, fused = over(store, cache), over(store, cache, default_weight=0.3)
    for index in (1, 1, 2):
        store.index = index
        plain.search([Rewrite(("dense",))], k=3)
        plain.search([Rewrite(("words",), lexical_weight=0.5)], k=3)
        plain.lexical(["text"], k=3)
        fused.search([Rewrite(("fused",))], k=3)
    assert store.searched.count(("dense",)) == 1
    assert store.searched.count(("words",)) == store.searched.count("text") == 2
    assert store.searched.count(("fused",)) == 2


def test_callers_may_change_what_they_get(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    for _ in range(3):
        [ranking] = retriever.search([Rewrite(("q",))], k=3)
        assert ranking.scores.tolist() == [1.0]
        assert ranking.metadatas == ({"state": 0, "tags": ["a", "b"]},)
        ranking.scores[:] = 7.0
        metadata: Any = ranking.metadatas[0]
        metadata["tags"].append("mine")
        metadata["tenant"] = "mine"
        vectors = retriever.document_vectors(["d"])
        assert vectors.tolist() == [[2.0, 2.0]]
        vectors[:] = 7.0
    assert len(store.searched) == 2


def test_retrievers_share_nothing_unless_they_say_so(store: Store, cache: ServingCache) -> None:
    other = Store()
    for _ in range(2):
        over(store, cache).search([Rewrite(("q",))], k=3)
    assert len(store.searched) == 2
    for _ in range(2):
        over(other, cache, scope="requests").search([Rewrite(("q",))], k=3)
    assert len(other.searched) == 1


def test_an_error_is_told_and_the_next_search_is_made(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    store.failure = CollectionError("it is gone")
    with pytest.raises(CollectionError, match="it is gone"):
        retriever.search([Rewrite(("q",))], k=3)
    store.failure = None
    assert retriever.search([Rewrite(("q",))], k=3)[0].ids == ("q#1",)


RUBBISH = {
    "not a number": Ranking(("d",), np.asarray([np.nan], dtype=np.float32)),
    "too few scores": Ranking(("d", "e"), np.ones(1, dtype=np.float32)),
    "too many texts": Ranking(("d",), np.ones(1, dtype=np.float32), ("t", "u")),
}


@pytest.mark.parametrize("fault", RUBBISH)
def test_rubbish_is_handed_out_once_and_not_for_a_day(
    store: Store, cache: ServingCache, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    retriever = over(store, cache)
    with monkeypatch.context() as patch:
        patch.setattr(store, "_ranking", lambda text: RUBBISH[fault])
        nan = np.full((1, 2), np.nan, dtype=np.float32)
        patch.setattr(store, "document_vectors", lambda ids: nan)
        assert retriever.search([Rewrite(("q",))], k=3)[0].ids == RUBBISH[fault].ids
        assert np.isnan(retriever.document_vectors(["d"])).all()
    assert retriever.search([Rewrite(("q",))], k=3)[0].ids == ("q#2",)
    assert np.isfinite(retriever.document_vectors(["d"])).all()


def test_large_batches_are_not_kept(store: Store, cache: ServingCache) -> None:
    retriever = over(store, cache)
    rewrites = [Rewrite((str(n),)) for n in range(MAX_AT_ONCE + 1)]
    retriever.search(rewrites, k=3)
    assert cache.stats().entries == 0
    retriever.search(rewrites[1:], k=3)
    assert cache.stats().entries == MAX_AT_ONCE


class Tenant:
    """A value of a filter whose name is its address."""


def test_a_filter_without_a_canonical_form_is_searched_each_time(
    store: Store, cache: ServingCache
) -> None:
    retriever = over(store, cache)
    for _ in range(2):
        retriever.search([Rewrite(("q",))], k=3, filters=[Filters({"tenant": Tenant()})])
    assert len(store.searched) == 2


def test_it_promises_what_the_wrapped_retriever_promises(cache: ServingCache) -> None:
    base = HybridRetriever(TfidfRetriever(DOCUMENTS), Bm25Retriever(DOCUMENTS), default_weight=0.2)
    retriever = CachedRetriever(base, cache, SearchState(documents=lambda: 0))
    for protocol in (Retriever, DocumentSource, Fingerprinted, LexicalSource, Refreshable):
        assert isinstance(retriever, protocol)
    assert (retriever.name, retriever.offers) == (base.name, base.offers)
    assert retriever.fingerprint() == base.fingerprint()
    assert retriever.n_documents == len(DOCUMENTS)
    assert retriever.documents(["size"]) == base.documents(["size"])
    assert retriever.statistics() == base.statistics()
    retriever.refresh()
    bare = CachedRetriever(TextOnly(), cache, SearchState(documents=lambda: 0))
    assert isinstance(bare, VectorSource)  # by its methods; it doesn't offer them
    assert bare.fingerprint() is None
    bare.refresh()
    with pytest.raises(TypeError, match="the text retriever has no vectors"):
        bare.embed_queries(["q"])
    with pytest.raises(TypeError, match="the text retriever has no documents"):
        bare.documents(["q"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text('ab1,"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab1"), inner, max_size=3),
    max_leaves=6,
)
WHERE = st.none() | st.dictionaries(st.text("ab$"), JSON, max_size=3)
FILTERS = st.builds(Filters, WHERE, WHERE)


def shape(value: object) -> object:
    """A value in which True, 1 and 1.0 differ, and so do lists and what they are written as."""
    if isinstance(value, dict):
        return ("dict", frozenset((key, shape(part)) for key, part in value.items()))
    if isinstance(value, list):
        return ("list", tuple(map(shape, value)))
    return (type(value).__name__, repr(value))


@given(FILTERS, FILTERS)
def test_filters_share_a_key_only_where_they_are_the_same(one: Filters, other: Filters) -> None:
    same = shape([one.where, one.where_document]) == shape([other.where, other.where_document])
    assert (filter_key(one) == filter_key(other)) is same
    assert filter_key(one) != filter_key(None)


TEXTS = st.lists(st.text("ab1.0:"), min_size=1, max_size=3)
REWRITES = st.builds(
    lambda texts, words: Rewrite(
        tuple(texts),
        (1 / len(texts),) * len(texts),
        lexical_texts=tuple(words),
        lexical_shares=(1 / len(words),) * len(words) if words else (),
    ),
    TEXTS,
    st.lists(st.text("ab1.0:"), max_size=3),
)


@given(REWRITES, REWRITES, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))
def test_rewrites_share_a_key_only_where_they_are_the_same(
    one: Rewrite, other: Rewrite, weight: float, other_weight: float
) -> None:
    one = dataclasses.replace(one, lexical_weight=weight)
    other = dataclasses.replace(other, lexical_weight=other_weight)
    assert (rewrite_key(one) == rewrite_key(other)) is (one == other)


def test_a_search_without_words_is_another_search() -> None:
    plain = Rewrite(("q",))
    assert rewrite_key(plain) != rewrite_key(dataclasses.replace(plain, without_words=True))
