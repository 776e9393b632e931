"""The loop turns while a wrapped retriever works, whatever it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.llama_index import RewritingRetriever
from tests.integration.llama_index.parts import (
    QUESTION,
    LoopRetriever,
    RecordingRetriever,
    chroma_index,
    of_words,
    over_chroma,
)
from tests.support import Gate


def _behind(gate: Gate) -> RecordingRetriever:
    def find(text: str) -> list[NodeWithScore]:
        gate.wait()
        return []

    return RecordingRetriever(find)


BASES: dict[str, Callable[[VectorStoreIndex, Gate], BaseRetriever]] = {
    "chroma": lambda index, gate: index.as_retriever(),
    "sync": lambda index, gate: _behind(gate),
    "transform": lambda index, gate: TransformRetriever(_behind(gate), IdentityQueryTransform()),
    "fusion": lambda index, gate: QueryFusionRetriever(
        [_behind(gate), index.as_retriever()], num_queries=1, llm=MockLLM()
    ),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("action", ["untrained", "keep", "keywords", "fuse_bm25@0.6"])
async def test_the_loop_is_free(base: str, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index, gate = chroma_index(), Gate()
    if action == "untrained":
        rewriter = RLQueryRewriter()
    elif base == "chroma":
        rewriter = over_chroma(index, action)
    else:
        rewriter = of_words(action if action == "keep" else "keywords")
    query = type(index.vector_store.client).query

    def slow_query(self: Any, *args: Any, **kwargs: Any) -> Any:
        gate.wait()
        return query(self, *args, **kwargs)

    monkeypatch.setattr(type(index.vector_store.client), "query", slow_query)

    await gate.opened(RewritingRetriever(rewriter, BASES[base](index, gate)).aretrieve(QUESTION))


async def test_an_async_retriever_is_awaited_on_the_loop() -> None:
    base = LoopRetriever()
    await RewritingRetriever(of_words("keywords"), base).aretrieve(QUESTION)
    assert base.bundles == [QueryBundle("money back card")]


async def test_many_at_once() -> None:
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, "fuse_bm25@0.6"), index.as_retriever())
    expected = [node.node_id for node in wrapped.retrieve(QUESTION)]
    results = await asyncio.gather(*(wrapped.aretrieve(QUESTION) for _ in range(20)))
    assert all([node.node_id for node in nodes] == expected for nodes in results)
