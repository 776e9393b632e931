"""Does a cache over real Chroma ever give anything but what Chroma would give now?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import chromadb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.cached import CachedRetriever
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.chroma_version import count_version
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import search_state, serving_retriever
from rl_rewriter.retrieval.serving_embedder import ServingEmbedder
from rl_rewriter.types import Filters, Ranking, Rewrite
from tests.support import TokenEmbedder, chroma_collection

WORDS = ("refund", "parcel", "card", "order")
IDS = tuple(f"d{n}" for n in range(8))


class Named(TokenEmbedder):
    name = "tokens"


def text_of(words: tuple[str, ...], id_: str) -> str:
    return " ".join((*words, id_))


@lru_cache
def client(kind: str) -> Any:
    if kind == "persistent":
        return chromadb.PersistentClient(mkdtemp(prefix="cached-"))
    return chromadb.EphemeralClient()


class Twins:
    """Two retrievers over one collection and one BM25 index, one of them with a cache."""

    def __init__(self, client: Any, config: CacheConfig | None = None) -> None:
        embedder = Named()
        self.cache = ServingCache(config)
        self.collection = chroma_collection({}, client=client)
        self.put_all(
            {
                id_: ("ab"[n % 2], text_of((WORDS[n % 4], WORDS[n % 3]), id_))
                for n, id_ in enumerate(IDS[:6])
            }
        )
        index = ChromaBm25(self.collection, cache_dir=Path(mkdtemp()), refresh_seconds=0.0)
        self.plain = HybridRetriever(ChromaRetriever(self.collection, as_embedder(embedder)), index)
        kept = ServingEmbedder(embedder, self.cache)
        hybrid = HybridRetriever(ChromaRetriever(self.collection, kept), index)
        state = search_state(self.cache, self.collection, index)
        self.cached = CachedRetriever(hybrid, self.cache, state)

    def put(self, id_: str, tenant: str, words: tuple[str, ...]) -> None:
        self.put_all({id_: (tenant, text_of(words, id_))})

    def put_all(self, documents: Mapping[str, tuple[str, str]]) -> None:
        texts = [text for _, text in documents.values()]
        self.collection.upsert(
            ids=list(documents),
            documents=texts,
            metadatas=[{"tenant": tenant} for tenant, _ in documents.values()],
            embeddings=Named().embed_documents(texts),
        )

    def compare(self, tenants: str, word: str, weight: float, k: int) -> None:
        """Both must find the same, whatever was found before."""
        filters = [Filters({"tenant": tenant}) for tenant in tenants]
        rewrites = [Rewrite((word, "order"), (0.7, 0.3), None, weight)] * len(tenants)
        found, expected = (
            each.search(rewrites, k=k, filters=filters, with_documents=True)
            for each in (self.cached, self.plain)
        )
        for tenant, one, other in zip(tenants, found, expected, strict=True):
            assert_same(one, other)
            assert one.metadatas is not None
            assert {m["tenant"] for m in one.metadatas if m} <= {tenant}
        words = (
            each.lexical([word], k=k, filters=filters[:1]) for each in (self.cached, self.plain)
        )
        assert_same(*(rankings[0] for rankings in words))
        ids = [*found[0].ids, "d0"]
        np.testing.assert_array_equal(
            self.cached.document_vectors(ids), self.plain.document_vectors(ids)
        )


def assert_same(one: Ranking, other: Ranking) -> None:
    assert one.ids == other.ids
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
    assert one.texts == other.texts
    assert one.metadatas == other.metadatas


SEARCHES = st.tuples(
    st.just("compare"),
    st.sampled_from(["a", "b", "ab", "ba"]),
    st.sampled_from(WORDS[:2]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([2, 5]),
)
ID, TENANT = st.sampled_from(IDS), st.sampled_from("ab")
WRITES = st.one_of(
    st.tuples(st.just("put"), ID, TENANT, st.tuples(st.sampled_from(WORDS))),
    st.tuples(st.just("delete"), ID),
    st.tuples(st.just("tenant"), ID, TENANT),
    st.tuples(st.just("vector"), ID, st.sampled_from(WORDS)),
    st.tuples(st.just("text"), ID, st.sampled_from(WORDS)),
)


def carry_out(twins: Twins, step: tuple[Any, ...]) -> None:
    kind, *arguments = step
    collection = twins.collection
    if kind in ("compare", "put"):
        getattr(twins, kind)(*arguments)
    elif kind == "delete":
        collection.delete(ids=arguments)
    elif kind == "tenant":
        collection.update(ids=[arguments[0]], metadatas=[{"tenant": arguments[1]}])
    elif kind == "vector":
        collection.update(ids=[arguments[0]], embeddings=[Named().vector(arguments[1]).tolist()])
    else:  # the text alone: its vector is given as it is
        stored = collection.get(ids=[arguments[0]], include=["embeddings"])["embeddings"]
        if len(stored):
            collection.update(ids=[arguments[0]], documents=[arguments[1]], embeddings=stored)


@pytest.mark.parametrize("kind", ["persistent", "in memory"])
@settings(max_examples=12, deadline=None)
@given(st.lists(st.one_of(SEARCHES, SEARCHES, WRITES), min_size=4, max_size=12))
def test_two_tenants_find_what_they_would_find_without_a_cache(
    kind: str, steps: list[tuple[Any, ...]]
) -> None:
    twins = Twins(client(kind))
    for step in steps:
        carry_out(twins, step)
    twins.compare("ab", "refund", 0.5, 5)


EDITS: dict[str, Callable[[Any], object]] = {
    "add": lambda twins: twins.put("d7", "a", ("refund",)),
    "delete": lambda twins: twins.collection.delete(ids=["d0"]),
    "text": lambda twins: carry_out(twins, ("text", "d0", "card")),
    "tenant": lambda twins: carry_out(twins, ("tenant", "d0", "b")),
    "vector": lambda twins: carry_out(twins, ("vector", "d0", "card")),
}


def results_kept(twins: Twins) -> int:
    return sum(key[0] != "embedding" for key, _ in twins.cache.items())  # type: ignore[index]  # ours are tuples


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", ["persistent", "in memory"])
def test_after_each_edit_the_next_search_is_right(kind: str, edit: str) -> None:
    twins = Twins(client(kind))
    for _ in range(2):
        twins.compare("ab", "refund", 0.5, 5)
    before = twins.cached.search([Rewrite(("refund",))], k=5, with_documents=True)
    EDITS[edit](twins)
    twins.compare("ab", "refund", 0.5, 5)
    after = twins.cached.search([Rewrite(("refund",))], k=5, with_documents=True)
    assert (before[0].ids, before[0].texts, before[0].metadatas, before[0].scores.tolist()) != (
        after[0].ids,
        after[0].texts,
        after[0].metadatas,
        after[0].scores.tolist(),
    )
    assert (results_kept(twins) > 0) is (kind == "persistent")


def test_a_persistent_collection_answers_again_without_being_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twins = Twins(client("persistent"))
    for _ in range(2):  # the first one builds the BM25 index, which is a change
        twins.compare("ab", "refund", 0.5, 5)
    known = twins.cache.stats()

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the collection was searched")

    monkeypatch.setattr(type(twins.collection), "query", refuse)
    filters = [Filters({"tenant": "a"}), Filters({"tenant": "b"})]
    rewrites = [Rewrite(("refund", "order"), (0.7, 0.3), None, 0.5)] * 2
    twins.cached.search(rewrites, k=5, filters=filters, with_documents=True)
    assert twins.cache.stats().hits == known.hits + 2
    assert twins.cache.stats().misses == known.misses


def test_behind_a_server_only_embeddings_are_kept(chroma_http: Any) -> None:
    twins = Twins(chroma_http)
    for edit in EDITS.values():
        twins.compare("ab", "refund", 0.5, 5)
        edit(twins)
    twins.compare("ab", "refund", 0.5, 5)
    assert results_kept(twins) == 0
    assert len(twins.cache.items()) == 2


def test_who_says_that_documents_are_only_added_has_results_kept(chroma_http: Any) -> None:
    twins = Twins(chroma_http, CacheConfig(collection_version=count_version))
    for id_ in ("d6", "d7", "d8"):
        for _ in range(2):
            twins.compare("ab", "refund", 0.0, 5)
        assert results_kept(twins) > 0
        twins.put(id_, "a", ("refund",))
    twins.compare("ab", "refund", 0.0, 5)


def test_without_a_cache_the_retriever_is_the_plain_one(tmp_path: Path) -> None:
    collection = chroma_collection()
    plain = serving_retriever(collection, Named(), cache=None, cache_dir=tmp_path)
    assert isinstance(plain, HybridRetriever)
    kept = serving_retriever(collection, Named(), cache=ServingCache(), cache_dir=tmp_path)
    assert isinstance(kept, CachedRetriever)
    assert kept.fingerprint() == plain.fingerprint()
