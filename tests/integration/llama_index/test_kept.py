"""A rewriter that keeps the query changes nothing: same nodes, same scores, same bundle."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from chromadb.api.models.Collection import Collection
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import QueryBundle

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations._llama_index_first import FirstSearch
from rl_rewriter.integrations.llama_index import RewritingRetriever
from rl_rewriter.serving.events import Served
from tests.integration.llama_index.parts import (
    QUESTION,
    RecordingRetriever,
    chroma_index,
    decided,
    embedding_of,
    found,
    of_words,
    over_chroma,
    simple_index,
    tenant,
)

INDEXES: dict[str, Callable[[], VectorStoreIndex]] = {
    "cosine": chroma_index,
    "l2": lambda: chroma_index(space="l2"),
    "ip": lambda: chroma_index(space="ip"),
    "simple": simple_index,
}
BUNDLES = (
    QueryBundle(QUESTION),
    QueryBundle(QUESTION, custom_embedding_strs=[QUESTION]),
    QueryBundle(QUESTION, custom_embedding_strs=["who pays for a repair?", "broken shoes"]),
    QueryBundle(QUESTION, embedding=[0.1] * 32),
)


@pytest.fixture(params=INDEXES)
def index(request: pytest.FixtureRequest) -> VectorStoreIndex:
    return INDEXES[request.param]()


@pytest.fixture(params=["untrained", "kept"])
def rewriter(request: pytest.FixtureRequest, index: VectorStoreIndex) -> RLQueryRewriter:
    if request.param == "untrained":
        return RLQueryRewriter()
    if index.vector_store.client is None or "Chroma" not in type(index.vector_store).__name__:
        return of_words("keep")
    return over_chroma(index, "keep")


@pytest.mark.parametrize("bundle", BUNDLES, ids=["text", "same texts", "own texts", "embedding"])
@pytest.mark.parametrize("k", [2, 5, 50])
async def test_as_the_bare_retriever(
    index: VectorStoreIndex, rewriter: RLQueryRewriter, bundle: QueryBundle, k: int
) -> None:
    base = index.as_retriever(similarity_top_k=k, filters=tenant("a"))
    expected = found(base.retrieve(copy.deepcopy(bundle)))
    asked = copy.deepcopy(bundle)
    wrapped = RewritingRetriever(rewriter, base)
    assert found(wrapped.retrieve(asked)) == expected
    assert found(await wrapped.aretrieve(asked)) == expected
    assert asked == bundle
    assert len(expected) == min(k, 6)


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
async def test_a_kept_query_is_searched_once(monkeypatch: pytest.MonkeyPatch, space: str) -> None:
    index = chroma_index(space=space)
    base = index.as_retriever(similarity_top_k=3, filters=tenant("a"))
    told: list[Served] = []
    wrapped = RewritingRetriever(over_chroma(index, "keep", listeners=[told.append]), base)
    expected = found(base.retrieve(QUESTION))
    wrapped.retrieve("which card pays?")  # builds the BM25 index
    searches: list[Any] = []
    query: Any = Collection.query

    def counted(self: Any, **settings: Any) -> Any:
        searches.append(settings.get("where"))
        return query(self, **settings)

    monkeypatch.setattr(Collection, "query", counted)
    assert found(wrapped.retrieve(QUESTION)) == expected
    assert found(await wrapped.aretrieve(QUESTION)) == expected
    assert len(searches) == 2
    assert all(searches)  # within the tenant
    assert told[-1].searches == 1  # BM25's


async def test_what_another_search_asks_for_is_searched() -> None:
    index = chroma_index()
    base = index.as_retriever(similarity_top_k=3)
    first = FirstSearch(
        index.vector_store.client, {QUESTION: embedding_of(index)._embedder.embed_query(QUESTION)}
    )
    assert first.serving(base) is None
    first.expect(QUESTION)
    vector = embedding_of(index)._embedder.vector(QUESTION)[None]
    first.query(
        query_embeddings=vector, n_results=5, include=["documents", "metadatas", "distances"]
    )
    for other in (
        index.as_retriever(similarity_top_k=3),
        index.as_retriever(similarity_top_k=9),
        index.as_retriever(similarity_top_k=3, filters=tenant("a")),
    ):
        serving = first.serving(other)
        assert serving is not None
        assert found(serving.retrieve(QUESTION)) == found(other.retrieve(QUESTION))
        assert found(serving.retrieve("repair?")) == found(other.retrieve("repair?"))


async def test_the_bundle_reaches_any_retriever_as_it_came() -> None:
    base = RecordingRetriever()
    bundle = QueryBundle(QUESTION, image_path="a.png", custom_embedding_strs=["x"], embedding=[1.0])
    for rewriter in (RLQueryRewriter(), of_words("keywords")):
        wrapped = RewritingRetriever(rewriter, base)
        wrapped.retrieve(bundle)
        await wrapped.aretrieve(bundle)
    assert base.bundles == [bundle] * 4
    decision = decided()
    assert decision.reason == "fallback:own_embedding"


def test_a_kept_query_is_embedded_once() -> None:
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, "keep"), index.as_retriever())
    embedding_of(index).embedded.clear()
    wrapped.retrieve(QUESTION)
    assert embedding_of(index).embedded == [QUESTION]


@pytest.mark.parametrize("question", ["", "   ", "x" * 20_000])
def test_questions_with_nothing_to_rewrite(question: str) -> None:
    index = chroma_index()
    base = index.as_retriever()
    wrapped = RewritingRetriever(over_chroma(index, "keywords"), base)
    assert found(wrapped.retrieve(question)) == found(base.retrieve(question))
    decision = decided()
    assert decision.reason in ("fallback:blank_query", "fallback:long_query")
