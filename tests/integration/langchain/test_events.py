"""What callbacks and event streams of LangChain hear of a decision."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rl_rewriter.integrations._langchain_events import (
    EVENT,
    adispatch_decision,
    dispatch_decision,
)
from tests.unit.telemetry.parts import QUESTION, decided


class Deciding(BaseRetriever):
    """Tells of a decision, as a retriever of ours does."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        dispatch_decision(decided(id=str(run_manager.run_id)), run_manager, n_documents=1)
        return [Document(page_content=query)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        await adispatch_decision(decided(id=str(run_manager.run_id)), run_manager, n_documents=1)
        return [Document(page_content=query)]


class Hearing(BaseCallbackHandler):
    """Keeps custom events; fails on them where it is told to."""

    raise_error = True

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.heard: list[tuple[str, Any, UUID, list[str] | None]] = []

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.heard.append((name, data, run_id, tags))
        if self.fails:
            raise RuntimeError("handler is broken")


class AsyncHearing(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[UUID] = []

    async def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.heard.append(run_id)


async def invoked(handler: Any, *, is_async: bool, run_id: UUID | None = None) -> list[Document]:
    config: Any = {"callbacks": [handler], "tags": ["mine"]}
    if is_async:
        return await Deciding().ainvoke(QUESTION, config, run_id=run_id)
    return Deciding().invoke(QUESTION, config, run_id=run_id)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_hears_of_it_under_the_retrievers_own_run(is_async: bool) -> None:
    handler, run_id = Hearing(), uuid4()
    await invoked(handler, is_async=is_async, run_id=run_id)
    [(name, data, told, tags)] = handler.heard
    assert (name, told) == (EVENT, run_id)
    assert data["decision_id"] == str(run_id)
    assert (data["action"], data["propensity"], data["n_documents"]) == ("keywords", 0.3, 1)
    assert tags == ["mine"]
    assert "money" not in str(data)


async def test_an_async_handler_hears_of_it_too() -> None:
    handler, run_id = AsyncHearing(), uuid4()
    await invoked(handler, is_async=True, run_id=run_id)
    assert handler.heard == [run_id]


async def test_it_is_in_the_stream_of_events() -> None:
    events: list[Any] = [e async for e in Deciding().astream_events(QUESTION, version="v2")]
    [event] = [event for event in events if event["event"] == "on_custom_event"]
    assert event["name"] == EVENT
    assert event["data"]["decision_id"] == event["run_id"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_that_raises_stops_no_chain(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Hearing(fails=True)
    assert await invoked(handler, is_async=is_async)
    assert handler.heard
    assert "failed: RuntimeError" in caplog.text


@pytest.mark.parametrize("is_async", [False, True])
async def test_without_callbacks_nothing_is_made(is_async: bool) -> None:
    retriever = Deciding()
    found = await retriever.ainvoke(QUESTION) if is_async else retriever.invoke(QUESTION)
    assert [document.page_content for document in found] == [QUESTION]
