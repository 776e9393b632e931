"""Query engines and chat engines of LlamaIndex with a rewriter inside."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_index.core.instrumentation as instrument
import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.retrieval import (
    RetrievalEndEvent,
    RetrievalStartEvent,
)
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import VectorIndexRetriever

from rl_rewriter.integrations.llama_index import RewritingRetriever, chat_history
from rl_rewriter.types import Turn
from tests.integration.llama_index.parts import (
    QUESTION,
    LoopRetriever,
    RecordingRetriever,
    chroma_index,
    decided,
    ids,
    logged,
    of_words,
    over_chroma,
    simple_index,
)

WORDS = "money back card"
EARLIER = [
    ChatMessage(role=MessageRole.SYSTEM, content="You help the customers of a shop."),
    ChatMessage(role=MessageRole.USER, content="Do you send parcels abroad?"),
    ChatMessage(role=MessageRole.ASSISTANT, content="Yes, within a week."),
]
TURNS = (Turn("user", "Do you send parcels abroad?"), Turn("assistant", "Yes, within a week."))


class Heard(BaseEventHandler):
    """Keeps the retrieval events."""

    events: list[Any] = []  # noqa: RUF012 (a pydantic field)

    @classmethod
    def class_name(cls) -> str:
        return "Heard"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        if isinstance(event, RetrievalStartEvent | RetrievalEndEvent):
            self.events.append(event)


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard(events=[])
    dispatcher = instrument.get_dispatcher()  # type: ignore[attr-defined]
    dispatcher.add_event_handler(handler)
    yield handler
    dispatcher.event_handlers.remove(handler)


@pytest.mark.parametrize("action", ["keep", "keywords", "move_dense_1@0.4", "fuse_bm25@0.6"])
async def test_a_query_engine_over_chroma(action: str, tmp_path: Path) -> None:
    index = chroma_index()
    rewriter = over_chroma(index, action, log=tmp_path / "log.jsonl")
    engine = RetrieverQueryEngine.from_args(
        RewritingRetriever(rewriter, index.as_retriever(similarity_top_k=3)), llm=MockLLM()
    )
    answers = [engine.query(QUESTION), await engine.aquery(QUESTION)]
    assert ids(answers[0].source_nodes) == ids(answers[1].source_nodes)
    assert all(QUESTION in str(answer) for answer in answers)  # the LLM is asked the original
    records = logged(tmp_path / "log.jsonl")
    assert len({record["id"] for record in records}) == 2
    for record, answer in zip(records, answers, strict=True):
        assert record["action"] == action
        assert record["query"] == QUESTION
        assert record["policy_version"] == rewriter.policy_version
        assert record["documents"] == [
            {"id": node.node_id, "score": node.score} for node in answer.source_nodes
        ]
    assert decided().id == records[-1]["id"]
    rewriter.feedback(decided().id, 1.0)


@pytest.mark.parametrize("action", ["keywords", "fuse_bm25@0.6"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_both_searches_are_heard(heard: Heard, action: str, is_async: bool) -> None:
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, action), index.as_retriever())
    nodes = await wrapped.aretrieve(QUESTION) if is_async else wrapped.retrieve(QUESTION)
    inner = WORDS if action == "keywords" else QUESTION
    outer_start, inner_start, inner_end, outer_end = heard.events
    assert [type(event).__name__ for event in heard.events] == [
        "RetrievalStartEvent",
        "RetrievalStartEvent",
        "RetrievalEndEvent",
        "RetrievalEndEvent",
    ]
    assert outer_start.span_id == outer_end.span_id != inner_start.span_id == inner_end.span_id
    assert [str(event.str_or_query_bundle) for event in heard.events] == [
        QUESTION,
        inner,
        inner,
        QUESTION,
    ]
    assert ids(inner_end.nodes) == ids(outer_end.nodes) == ids(nodes)


@pytest.mark.parametrize("is_async", [False, True])
async def test_callbacks_of_the_base_go_on(is_async: bool) -> None:
    handler = LlamaDebugHandler(print_trace_on_end=False)
    base = VectorIndexRetriever(simple_index(), callback_manager=CallbackManager([handler]))
    wrapped = RewritingRetriever(of_words("keywords"), base)
    await wrapped.aretrieve(QUESTION) if is_async else wrapped.retrieve(QUESTION)
    pairs = handler.get_event_pairs(CBEventType.RETRIEVE)
    asked = [start.payload["query_str"] for start, _ in pairs if start.payload is not None]
    assert sorted(asked) == sorted([QUESTION, WORDS])


@pytest.mark.parametrize("wraps", [True, False], ids=["block", "memory"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_history_reaches_the_policy(wraps: bool, is_async: bool) -> None:
    base = RecordingRetriever()
    memory = None if wraps else ChatMemoryBuffer.from_defaults(chat_history=EARLIER, llm=MockLLM())
    wrapped = RewritingRetriever(of_words("history_last_user_in_front"), base, memory=memory)

    async def ask() -> None:
        await wrapped.aretrieve("How much?") if is_async else wrapped.retrieve("How much?")

    if wraps:
        with chat_history(EARLIER):
            await ask()
    else:
        await ask()
    assert decided().query.history == TURNS
    assert base.asked == ["Do you send parcels abroad? How much?"]


async def test_a_block_wins_over_the_memory_and_ends() -> None:
    memory = ChatMemoryBuffer.from_defaults(chat_history=EARLIER, llm=MockLLM())
    wrapped = RewritingRetriever(of_words("keep"), RecordingRetriever(), memory=memory)
    with chat_history([("human", "What else?"), "I don't know."]):
        await wrapped.aretrieve("How much?")
        assert decided().query.history == (
            Turn("user", "What else?"),
            Turn("assistant", "I don't know."),
        )
    await wrapped.aretrieve("How much?")
    assert decided().query.history == TURNS


async def test_conversations_side_by_side_are_not_mixed_up() -> None:
    base = LoopRetriever()
    wrapped = RewritingRetriever(of_words("history_last_user_in_front"), base)

    async def ask(name: str) -> None:
        with chat_history([f"Hello from {name}.", "Hello."]):
            await asyncio.sleep(0)
            await wrapped.aretrieve(f"And {name}?")
            assert decided().query.history[0].text == f"Hello from {name}."

    await asyncio.gather(*(ask(name) for name in "abcdefgh"))
    assert sorted(base.asked) == [f"Hello from {name}. And {name}?" for name in "abcdefgh"]


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
@pytest.mark.parametrize("memory_kind", [ChatMemoryBuffer, Memory])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_chat_engine_and_its_memory(kind: Any, memory_kind: Any, is_async: bool) -> None:
    settings = {"llm": MockLLM()} if memory_kind is ChatMemoryBuffer else {}
    memory = memory_kind.from_defaults(token_limit=3000, **settings)
    base = RecordingRetriever()
    wrapped = RewritingRetriever(of_words("history_last_user_in_front"), base, memory=memory)
    engine: BaseChatEngine = kind.from_defaults(retriever=wrapped, memory=memory, llm=MockLLM())

    async def ask(text: str) -> None:
        await engine.achat(text) if is_async else await asyncio.to_thread(engine.chat, text)

    await ask("Do you send parcels abroad?")
    await ask("How much?")
    assert base.asked[0] == "Do you send parcels abroad?"
    assert base.asked[1].startswith("Do you send parcels abroad? ")
    assert "How much?" in base.asked[1]


def test_a_question_that_is_in_the_memory_already_is_no_history() -> None:
    question = ChatMessage(role=MessageRole.USER, content="How much?")
    memory = ChatMemoryBuffer.from_defaults(chat_history=[*EARLIER, question], llm=MockLLM())
    wrapped = RewritingRetriever(of_words("keep"), RecordingRetriever(), memory=memory)
    wrapped.retrieve("How much?")
    assert decided().query.history == TURNS
