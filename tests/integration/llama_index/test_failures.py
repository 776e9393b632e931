"""Whatever fails on our side, the base is asked the original; its own errors stay its own."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rl_rewriter import RewriterError, RLQueryRewriter
from rl_rewriter.errors import InputError
from rl_rewriter.integrations.llama_index import RewritingRetriever, chat_history
from rl_rewriter.serving.limits import Budget
from tests.integration.llama_index.parts import (
    QUESTION,
    LoopRetriever,
    RecordingRetriever,
    chroma_index,
    decided,
    embedding_of,
    found,
    logged,
    of_words,
    over_chroma,
)


class BaseError(Exception):
    """The base's own."""


def _no_embedding_but_the_question_s(index: VectorStoreIndex) -> None:
    embedding_of(index).break_but_for(QUESTION)


def _drop_the_bm25_texts(index: VectorStoreIndex) -> None:
    client = index.vector_store.client
    object.__setattr__(client, "get", _fail)


def _fail(*_: Any, **__: Any) -> NoReturn:
    raise ConnectionError("no texts today")


@pytest.mark.parametrize(
    ("action", "damage", "reason"),
    [
        ("keywords", _no_embedding_but_the_question_s, "fallback:search"),
        ("keywords@0.5", _no_embedding_but_the_question_s, "fallback:search"),
        ("fuse_bm25@0.6", _drop_the_bm25_texts, "fallback:evidence"),
    ],
)
async def test_our_failure_leads_to_the_original(
    action: str,
    damage: Callable[[VectorStoreIndex], None],
    reason: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = chroma_index()
    base = index.as_retriever(similarity_top_k=4)
    expected = found(base.retrieve(QUESTION))
    rewriter = over_chroma(index, action, log=tmp_path / "log.jsonl")
    damage(index)
    wrapped = RewritingRetriever(rewriter, base)
    with caplog.at_level(logging.WARNING, logger="rl_rewriter"):
        assert found(wrapped.retrieve(QUESTION)) == expected
        assert found(await wrapped.aretrieve(QUESTION)) == expected
    assert [record["reason"] for record in logged(tmp_path / "log.jsonl")] == [reason] * 2
    assert all(record["action"] == "keep" for record in logged(tmp_path / "log.jsonl"))
    assert reason in caplog.text


async def test_a_collection_that_cannot_be_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    index = chroma_index()
    base = index.as_retriever()
    expected = found(base.retrieve(QUESTION))
    wrapped = RewritingRetriever(over_chroma(index, "keywords"), base)
    monkeypatch.setattr(type(index.vector_store.client), "configuration", property(_fail))
    assert found(wrapped.retrieve(QUESTION)) == expected
    assert found(await wrapped.aretrieve(QUESTION)) == expected
    assert decided().reason == "fallback:adapter"


@pytest.mark.parametrize("kind", [RecordingRetriever, LoopRetriever])
@pytest.mark.parametrize("rewriter", [RLQueryRewriter(), of_words("keywords")], ids=["keep", "act"])
async def test_errors_of_the_base_pass_through(
    kind: type[RecordingRetriever], rewriter: RLQueryRewriter
) -> None:
    error = BaseError("the store is down")

    def find(text: str) -> list[NodeWithScore]:
        raise error

    wrapped = RewritingRetriever(rewriter, kind(find))
    with pytest.raises(BaseError) as sync_error:
        wrapped.retrieve(QUESTION)
    with pytest.raises(BaseError) as async_error:
        await wrapped.aretrieve(QUESTION)
    assert sync_error.value is error
    assert async_error.value is error


@pytest.mark.parametrize("kind", [RecordingRetriever, LoopRetriever])
async def test_a_rewrite_that_the_base_cannot_take_is_given_up(
    kind: type[RecordingRetriever], tmp_path: Path
) -> None:
    def find(text: str) -> list[NodeWithScore]:
        if text != QUESTION:
            raise BaseError(text)
        return [NodeWithScore(node=TextNode(id_="n", text=text))]

    base = kind(find)
    rewriter = of_words("keywords", log=tmp_path / "log.jsonl")
    wrapped = RewritingRetriever(rewriter, base)
    first, second = wrapped.retrieve(QUESTION), await wrapped.aretrieve(QUESTION)
    assert found(first) == found(second) == [("n", None, QUESTION)]
    assert base.asked == ["money back card", QUESTION] * 2
    records = logged(tmp_path / "log.jsonl")
    assert [record["reason"] for record in records] == ["fallback:search"] * 2
    assert records[0]["policy_version"] == rewriter.policy_version
    assert records[0]["documents"] == [{"id": "n", "score": None}]


class LostMemory:
    def get_all(self) -> NoReturn:
        raise ConnectionError("the chat store is down")


class OddMemory:
    def get(self) -> list[object]:
        return [object()]


class CancelledMemory:
    """Its connection was cancelled, and not the question."""

    def get_all(self) -> NoReturn:
        raise ConnectionError("the connection was cancelled")

    async def aget_all(self) -> NoReturn:
        raise asyncio.CancelledError


@pytest.mark.parametrize("memory", [LostMemory(), OddMemory(), CancelledMemory()])
async def test_a_memory_that_cannot_be_read(memory: Any) -> None:
    base = RecordingRetriever()
    wrapped = RewritingRetriever(of_words("keywords"), base, memory=memory)
    wrapped.retrieve(QUESTION)
    await wrapped.aretrieve(QUESTION)
    assert base.asked == [QUESTION] * 2
    assert decided().reason == "fallback:history"


class SpillingMemory:
    """Tells what it was asked for when it is cancelled."""

    def get(self) -> list[object]:
        return []

    async def aget(self) -> list[object]:
        try:
            await asyncio.sleep(10.0)
        except asyncio.CancelledError:
            raise ConnectionError(QUESTION) from None
        return []


async def test_the_error_of_a_memory_that_came_too_late_is_told_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rewriter = of_words("keywords", budget=Budget(seconds=0.05))
    wrapped = RewritingRetriever(rewriter, RecordingRetriever(), memory=SpillingMemory())
    with caplog.at_level(logging.INFO):
        await wrapped.aretrieve(QUESTION)
        await asyncio.sleep(0.01)
        gc.collect()
    assert decided().reason == "fallback:timeout"
    assert QUESTION not in caplog.text


def test_a_log_that_cannot_be_written_stops_nothing_but_the_rewrite(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rewriter = of_words("keywords", log=tmp_path / "file" / "log.jsonl")
    nodes = RewritingRetriever(rewriter, RecordingRetriever()).retrieve(QUESTION)
    assert found(nodes) == [("n", None, QUESTION)]
    assert decided().reason == "fallback:log_write"


def test_wrong_use_is_told_at_once() -> None:
    with pytest.raises(InputError, match=r"index\.as_retriever"):
        RewritingRetriever(RLQueryRewriter(), chroma_index())
    with pytest.raises(InputError, match="get_all"):
        RewritingRetriever(RLQueryRewriter(), RecordingRetriever(), memory=["hello"])
    with pytest.raises(RewriterError, match="not str"), chat_history("hello"):
        pass


def test_the_caller_s_bundle_is_never_changed() -> None:
    index = chroma_index()
    for action in ("keep", "keywords", "keywords@0.5", "move_dense_1@0.4", "fuse_bm25@0.2"):
        bundle = QueryBundle(QUESTION, custom_embedding_strs=[QUESTION])
        RewritingRetriever(over_chroma(index, action), index.as_retriever()).retrieve(bundle)
        assert decided().action == action
        assert bundle == QueryBundle(QUESTION, custom_embedding_strs=[QUESTION])
