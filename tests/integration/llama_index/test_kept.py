"""A rewriter that keeps the query changes nothing: same nodes, same scores, same bundle."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import QueryBundle

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.llama_index import RewritingRetriever
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
