"""Limits of our own work, through every entry of the LlamaIndex adapter: the engine goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # public there
    instrument_tags,
)
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rl_rewriter import Evidence, Rewrite, RLQueryRewriter
from rl_rewriter.errors import ServingError
from rl_rewriter.integrations.llama_index import QueryRewriteTransform, RewritingRetriever
from rl_rewriter.logs.locked_file import locked
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import Budget
from tests.faults import Stall, faulty_checkpoint
from tests.integration.llama_index.parts import (
    QUESTION,
    RecordingRetriever,
    chroma_index,
    decided,
    embedding_of,
    found,
    logged,
    of_words,
    over_chroma,
    retriever_over,
)
from tests.support import fixed_checkpoint

SHORT = Budget(seconds=0.3)


@pytest.fixture
def stall() -> Iterator[Stall]:
    held = Stall()
    yield held
    held.let_go()


async def assert_kept(rewriter: RLQueryRewriter, base: Any, reason: str, **settings: Any) -> None:
    """The bare retriever's nodes, sync and async, under that reason, and counted."""
    wrapped = RewritingRetriever(rewriter, base, **settings)
    expected = found(base.retrieve(QUESTION))
    before = rewriter.counters["reasons"].get(reason, 0)
    assert found(wrapped.retrieve(QUESTION)) == expected
    assert decided().reason == reason
    assert found(await wrapped.aretrieve(QUESTION)) == expected
    assert (decided().reason, decided().action) == (reason, "keep")
    assert rewriter.counters["reasons"][reason] == before + 2


async def test_a_slow_action(stall: Stall) -> None:
    index = chroma_index()
    checkpoint = faulty_checkpoint(retriever_over(index), stall)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=SHORT)
    await assert_kept(rewriter, index.as_retriever(), "fallback:timeout")


async def test_a_slow_embedding_of_the_rewrite_alone(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = chroma_index()
    rewriter = over_chroma(index, "keywords@0.5", budget=SHORT)
    embed = embedding_of(index)._embedder.embed_query

    def slowly(text: str) -> list[float]:
        if text != QUESTION:
            stall()
        return embed(text)

    monkeypatch.setattr(embedding_of(index)._embedder, "embed_query", slowly)
    await assert_kept(rewriter, index.as_retriever(), "fallback:timeout")


async def test_nodes_of_a_fused_ranking_that_come_late(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = chroma_index()
    rewriter = over_chroma(index, "fuse_bm25@0.6", budget=Budget(seconds=0.5))
    base = index.as_retriever()
    RewritingRetriever(rewriter, base).retrieve(QUESTION)  # builds the BM25 index
    monkeypatch.setattr(type(index.vector_store), "get_nodes", stall)
    await assert_kept(rewriter, base, "fallback:timeout")


async def test_a_slow_base_is_waited_for() -> None:
    pause = threading.Event()

    def find(text: str) -> list[NodeWithScore]:
        pause.wait(0.5)
        return [NodeWithScore(node=TextNode(id_="n", text=text))]

    wrapped = RewritingRetriever(of_words("keywords", budget=SHORT), RecordingRetriever(find))
    assert found(wrapped.retrieve(QUESTION)) == [("n", None, "money back card")]
    assert found(await wrapped.aretrieve(QUESTION)) == [("n", None, "money back card")]
    assert decided().reason == "policy"


def _text(evidence: Evidence) -> Any:
    return "no rewrite"


def _fused(evidence: Evidence) -> Rewrite:
    return Rewrite((evidence.query.text,), lexical_weight=0.5)


def _asked_thrice(evidence: Evidence) -> Rewrite:
    return Rewrite(("card account",), llm_calls=3)


@pytest.mark.parametrize(
    ("make", "settings", "reason"),
    [
        (_text, {}, "fallback:action_error"),
        (_fused, {"budget": Budget(searches=0)}, "fallback:search_budget"),
        (_fused, {"budget": Budget(searches=2)}, "fallback:search_budget"),
        (_asked_thrice, {"budget": Budget(llm_calls=2)}, "fallback:llm_budget"),
        (_text, {"kill_switch": lambda: True}, "fallback:kill_switch"),
    ],
)
async def test_refusals_and_rubbish(
    make: Callable[[Evidence], Any], settings: dict[str, Any], reason: str
) -> None:
    index = chroma_index()
    checkpoint = faulty_checkpoint(retriever_over(index), make)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, **settings)
    await assert_kept(rewriter, index.as_retriever(), reason)


async def test_an_open_circuit_asks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    index = chroma_index()
    checkpoint = faulty_checkpoint(retriever_over(index), _text)
    rewriter = RLQueryRewriter(
        checkpoint=checkpoint, breaker=BreakerConfig(failures=2, seconds=60.0)
    )
    await assert_kept(rewriter, index.as_retriever(), "fallback:action_error")
    await assert_kept(rewriter, index.as_retriever(), "fallback:circuit_open")
    assert len([r for r in caplog.records if "fallback" in r.getMessage()]) == 1


@pytest.mark.parametrize("action", ["keep", "keywords", "fuse_bm25@0.6"])
async def test_no_unlogged_rewrite_is_served(action: str) -> None:
    index = chroma_index()
    rewriter = over_chroma(
        index,
        action,
        log=DecisionLog("/dev/full"),
        breaker=BreakerConfig(failures=3, seconds=60.0),
    )
    for _ in range(3):  # the log's circuit opens in between
        await assert_kept(rewriter, index.as_retriever(), "fallback:log_write")


async def test_a_stuck_log_gets_no_late_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rewriter = of_words("keywords", log=DecisionLog(path), budget=SHORT)
    with locked(path):  # another process is writing, and doesn't come to an end
        await assert_kept(rewriter, RecordingRetriever(), "fallback:log_write")
    RewritingRetriever(rewriter, RecordingRetriever()).retrieve(QUESTION)
    assert [record["id"] for record in logged(path)] == [decided().id]


def test_the_transform_keeps_the_question_too(stall: Stall) -> None:
    slow = RLQueryRewriter(checkpoint=faulty_checkpoint(TextOnly(), stall), budget=SHORT)
    unlogged = of_words("keywords", log=DecisionLog("/dev/full"))
    for rewriter, reason in [(slow, "fallback:timeout"), (unlogged, "fallback:log_write")]:
        bundle = QueryRewriteTransform(rewriter).run(QUESTION)
        assert bundle.query_str == QUESTION
        assert decided().reason == reason


class SlowMemory:
    def __init__(self, stall: Stall) -> None:
        self._stall = stall

    def get_all(self) -> list[Any]:
        self._stall()
        return []


class SlowAsyncMemory(SlowMemory):
    async def aget_all(self) -> list[Any]:
        await asyncio.sleep(30.0)
        return []


@pytest.mark.parametrize("kind", [SlowMemory, SlowAsyncMemory])
async def test_a_slow_memory(stall: Stall, kind: type[SlowMemory]) -> None:
    rewriter = of_words("keywords", budget=SHORT)
    await assert_kept(rewriter, RecordingRetriever(), "fallback:timeout", memory=kind(stall))


async def test_strict_raises(stall: Stall) -> None:
    index = chroma_index()
    slow = faulty_checkpoint(retriever_over(index), stall)
    rubbish = faulty_checkpoint(retriever_over(index), _text)
    cases = [
        (RLQueryRewriter(checkpoint=slow, strict=True, budget=SHORT), "timeout"),
        (RLQueryRewriter(checkpoint=rubbish, strict=True), "action_error"),
        (of_words("keywords", strict=True, log=DecisionLog("/dev/full")), "log_write"),
    ]
    for rewriter, reason in cases:
        wrapped = RewritingRetriever(rewriter, index.as_retriever())
        with pytest.raises(ServingError, match=reason):
            wrapped.retrieve(QUESTION)
        with pytest.raises(ServingError, match=reason):
            await wrapped.aretrieve(QUESTION)
    wrapped = RewritingRetriever(of_words("keywords", strict=True), index.as_retriever())
    wrapped.retrieve(QueryBundle(QUESTION, embedding=[0.1] * 32))
    assert decided().reason == "fallback:own_embedding"


async def test_listeners_hear_of_each_request() -> None:
    told: list[Served] = []
    index = chroma_index()
    rewriter = over_chroma(index, "fuse_bm25@0.6", listeners=[told.append])
    wrapped = RewritingRetriever(rewriter, index.as_retriever(similarity_top_k=3))
    with instrument_tags({"session_id": "s1"}):
        wrapped.retrieve(QUESTION)
        await wrapped.aretrieve(QUESTION)
    for served in told:
        assert (served.adapter, served.n_documents) == ("llama_index", 3)
        assert served.searches == 3
        assert served.tags == {"session_id": "s1"}
    assert told[1].decision == decided()


class Shadowing:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self._checkpoint = fixed_checkpoint(TextOnly(), "keywords")

    def choose(self, session: str) -> Assignment:
        self.asked.append(session)
        return Assignment(checkpoint=self._checkpoint, shadow=True)


async def test_sessions_and_seeds_come_from_instrumentation() -> None:
    sides, base = Shadowing(), RecordingRetriever()
    wrapped = RewritingRetriever(RLQueryRewriter(deployment=sides), base, explore=True)
    drawn = set()
    for seed in range(60):
        with instrument_tags({"thread_id": "t1", "rl_rewriter_seed": seed}):
            wrapped.retrieve(QUESTION)
            drawn.add((seed, decided().tags["shadow_action"]))
            await wrapped.aretrieve(QUESTION)
            drawn.add((seed, decided().tags["shadow_action"]))
    assert len(drawn) == 60
    assert len({action for _, action in drawn}) > 1
    assert set(sides.asked) == {"t1"}
    assert set(base.asked) == {QUESTION}
