"""Limits of our own work, through every entry of the LangChain adapter: the chain goes on."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from rl_rewriter import Evidence, Rewrite, RLQueryRewriter
from rl_rewriter.errors import ServingError
from rl_rewriter.integrations.langchain import (
    QueryRewriteRunnable,
    RewritingRetriever,
    create_history_aware_rewriting_retriever,
)
from rl_rewriter.logs.locked_file import locked
from rl_rewriter.logs.store import DecisionLog, read_records
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import Budget
from tests.faults import Stall, faulty_checkpoint
from tests.integration.langchain.parts import Echo, Trained, latest
from tests.support import QUERIES, fixed_checkpoint

SHORT = Budget(seconds=0.3)
ASKED = QUERIES[0]


@pytest.fixture
def stall() -> Iterator[Stall]:
    held = Stall()
    yield held
    held.let_go()


def over(store: Any) -> Any:
    return chroma_retriever(store._collection, store.embeddings)


async def assert_kept(rewriter: RLQueryRewriter, base: Any, reason: str, **settings: Any) -> None:
    """The bare retriever's documents, sync and async, under that reason, and counted."""
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base, **settings)
    expected = base.invoke(ASKED)
    before = rewriter.counters["reasons"].get(reason, 0)
    assert wrapped.invoke(ASKED) == expected
    assert latest().reason == reason
    assert await wrapped.ainvoke(ASKED) == expected
    assert (latest().reason, latest().action) == (reason, "keep")
    assert rewriter.counters["reasons"][reason] == before + 2


async def test_a_slow_action(store: Any, stall: Stall) -> None:
    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(over(store), stall), budget=SHORT)
    await assert_kept(rewriter, store.as_retriever(), "fallback:timeout")


async def test_a_slow_embedder_of_the_rewrite_alone(
    store: Any, trained: Trained, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own search of a mix is our own time, too."""
    base, rewriter = store.as_retriever(), trained("keywords@0.5", budget=SHORT)
    embed = store.embeddings.embed_query

    def slowly(text: str) -> Any:
        if text != ASKED:
            stall()
        return embed(text)

    monkeypatch.setattr(store.embeddings, "embed_query", slowly)
    await assert_kept(rewriter, base, "fallback:timeout")


async def test_a_slow_base_is_waited_for(trained_on_text: Trained) -> None:
    pause = threading.Event()
    base = Echo(before=lambda: pause.wait(0.5))
    wrapped = RewritingRetriever(rewriter=trained_on_text(budget=SHORT), base_retriever=base)
    assert wrapped.invoke(ASKED)[0].page_content == "money back card"
    assert (await wrapped.ainvoke(ASKED))[0].page_content == "money back card"
    assert latest().reason == "policy"


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
    store: Any, make: Callable[[Evidence], Any], settings: dict[str, Any], reason: str
) -> None:
    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(over(store), make), **settings)
    await assert_kept(rewriter, store.as_retriever(), reason)


async def test_a_cancelled_call_is_cancelled_and_its_probe_given_back(
    store: Any, stall: Stall
) -> None:
    outcomes: list[Callable[[Evidence], Any]] = [_text, stall, lambda evidence: None]
    rewriter = RLQueryRewriter(
        checkpoint=faulty_checkpoint(over(store), lambda evidence: outcomes.pop(0)(evidence)),
        budget=Budget(seconds=30.0),
        breaker=BreakerConfig(failures=1, seconds=0.05),
    )
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    wrapped.invoke(ASKED)
    await asyncio.sleep(0.06)
    probe = asyncio.create_task(wrapped.ainvoke(ASKED))
    while not stall.reached.is_set():
        await asyncio.sleep(0.001)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    await wrapped.ainvoke(ASKED)  # the next one is the probe
    assert latest().reason == "policy"
    assert rewriter.counters["events"] == {"passed_through": 1}


async def test_an_open_circuit_costs_nothing(
    store: Any, searches: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    rewriter = RLQueryRewriter(
        checkpoint=faulty_checkpoint(over(store), _text),
        breaker=BreakerConfig(failures=2, seconds=60.0),
    )
    base = store.as_retriever()
    with caplog.at_level(logging.WARNING):
        await assert_kept(rewriter, base, "fallback:action_error")
        searches.clear()
        await assert_kept(rewriter, base, "fallback:circuit_open")
    assert len(searches) == 3  # one of them is the bare retriever's
    assert len([r for r in caplog.records if "fallback" in r.getMessage()]) == 1


@pytest.mark.parametrize("action", ["keep", "keywords", "fuse_bm25@0.4"])
async def test_no_unlogged_rewrite_is_served(store: Any, trained: Trained, action: str) -> None:
    rewriter = trained(
        action, log=DecisionLog("/dev/full"), breaker=BreakerConfig(failures=3, seconds=60.0)
    )
    for _ in range(3):  # the log's circuit opens in between
        await assert_kept(rewriter, store.as_retriever(), "fallback:log_write")
    assert rewriter.counters["events"]["log_error"] == 3


async def test_a_stuck_log_gets_no_late_record(trained_on_text: Trained, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rewriter = trained_on_text(log=DecisionLog(path), budget=SHORT)
    with locked(path):  # another process is writing, and doesn't come to an end
        await assert_kept(rewriter, Echo(), "fallback:log_write")
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo())
    wrapped.invoke(ASKED)
    assert [record["id"] for record in read_records(path)] == [latest().id]


async def test_the_step_keeps_the_question_too(trained_on_text: Trained, stall: Stall) -> None:
    slow = RLQueryRewriter(checkpoint=faulty_checkpoint(TextOnly(), stall), budget=SHORT)
    unlogged = trained_on_text(log=DecisionLog("/dev/full"))
    for rewriter, reason in [(slow, "fallback:timeout"), (unlogged, "fallback:log_write")]:
        step = QueryRewriteRunnable(rewriter=rewriter)
        assert step.invoke(ASKED) == ASKED
        assert await step.ainvoke(ASKED) == ASKED
        assert latest().reason == reason


class SlowHistory:
    """A chat history whose messages come from a store that stalls."""

    def __init__(self, stall: Stall) -> None:
        self._stall = stall

    @property
    def messages(self) -> list[str]:
        self._stall()
        return []


async def test_a_slow_history(trained_on_text: Trained, stall: Stall) -> None:
    aware = create_history_aware_rewriting_retriever(trained_on_text(budget=SHORT), Echo())
    asked = {"input": ASKED, "chat_history": SlowHistory(stall)}
    assert aware.invoke(asked)[0].page_content == ASKED
    assert (await aware.ainvoke(asked))[0].page_content == ASKED
    assert latest().reason == "fallback:timeout"


async def test_strict_raises(store: Any, trained_on_text: Trained, stall: Stall) -> None:
    slow = faulty_checkpoint(over(store), stall)
    rubbish = faulty_checkpoint(over(store), _text)
    cases = [
        (RLQueryRewriter(checkpoint=slow, strict=True, budget=SHORT), "timeout"),
        (RLQueryRewriter(checkpoint=rubbish, strict=True), "action_error"),
        (trained_on_text(strict=True, log=DecisionLog("/dev/full")), "log_write"),
    ]
    for rewriter, reason in cases:
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
        with pytest.raises(ServingError, match=reason):
            wrapped.invoke(ASKED)
        with pytest.raises(ServingError, match=reason):
            await wrapped.ainvoke(ASKED)
    wrapped = RewritingRetriever(
        rewriter=trained_on_text(strict=True),
        base_retriever=store.as_retriever(search_type="mmr"),
    )
    wrapped.invoke(ASKED)
    assert latest().reason == "fallback:search_type"


async def test_listeners_hear_of_each_request(store: Any, trained: Trained) -> None:
    told: list[Served] = []
    rewriter = trained("fuse_bm25@0.4", listeners=[told.append])
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    config: RunnableConfig = {"metadata": {"session_id": "s1"}}
    wrapped.invoke(ASKED, config)
    await wrapped.ainvoke(ASKED, config)
    for served in told:
        assert (served.adapter, served.n_documents) == ("langchain", 4)
        assert served.searches == 3  # the first ranking, BM25's, and BM25's again for the fusion
        assert served.tags["session_id"] == "s1"
        assert served.seconds > 0
    assert told[1].decision == latest()


class BySession:
    """Assigns by session, and remembers what it was asked for."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.asked: list[str] = []

    def choose(self, session: str) -> Assignment:
        self.asked.append(session)
        return self.assignment


@pytest.mark.parametrize("where", ["metadata", "configurable"])
async def test_sessions_and_seeds_come_from_the_config(where: str, tmp_path: Path) -> None:
    checkpoint = fixed_checkpoint(TextOnly(), "keywords")
    sides = BySession(Assignment(checkpoint=checkpoint, tags={"rollout": "r1"}, shadow=True))
    log = tmp_path / "log.jsonl"
    rewriter = RLQueryRewriter(deployment=sides, log=log)
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo(), explore=True)
    step = QueryRewriteRunnable(rewriter=rewriter, explore=True)
    drawn = set()
    for seed in [3] * 5 + list(range(60)):
        config: Any = {where: {"thread_id": "t1", "rl_rewriter_seed": seed}}
        [found] = wrapped.invoke(ASKED, config)
        assert found.page_content == ASKED
        drawn.add((seed, latest().tags["shadow_action"]))
        assert await step.ainvoke(ASKED, config) == ASKED
        drawn.add((seed, latest().tags["shadow_action"]))
    assert len(drawn) == 60
    assert len({action for _, action in drawn}) > 1
    assert set(sides.asked) == {"t1"}
    records = list(read_records(log))
    assert {record["reason"] for record in records} == {"shadow"}
    assert {(r["tags"]["thread_id"], r["tags"]["rollout"]) for r in records} == {("t1", "r1")}
    assert all(record["propensity"] == 1.0 for record in records)


class Careless(Echo):
    """A base whose answer is no list of documents."""

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> Any:
        return [{"page_content": query}]


async def test_what_a_careless_base_gives_is_handed_over(
    trained_on_text: Trained, tmp_path: Path
) -> None:
    rewriter = trained_on_text(log=tmp_path / "log.jsonl")
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Careless(), tag_documents=True)
    expected: list[Any] = [{"page_content": "money back card"}]
    assert wrapped.invoke(ASKED) == expected
    assert await wrapped.ainvoke(ASKED) == expected
    assert rewriter.counters["events"] == {"untagged": 2}


async def test_the_first_request_while_bm25_is_built(
    store: Any, trained: Trained, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept; the index is built behind it, and the next request finds it."""
    rewriter, base = trained("fuse_bm25@0.4", budget=Budget(seconds=0.5)), store.as_retriever()
    get = type(store._collection).get

    def slowly(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("offset") == 0 and not stall.reached.is_set():
            stall()
        return get(self, *args, **kwargs)

    monkeypatch.setattr(type(store._collection), "get", slowly)
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)
    assert wrapped.invoke(ASKED) == base.invoke(ASKED)
    assert latest().reason == "fallback:timeout"
    stall.let_go()
    for _ in range(50):
        found: list[Document] = wrapped.invoke(ASKED)
        if latest().reason == "policy":
            break
    assert latest().action == "fuse_bm25@0.4"
    assert len(found) == 4
