"""What event handlers of LlamaIndex hear of a decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]
    instrument_tags,
)
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import RetrievalStartEvent
from llama_index.core.schema import NodeWithScore, QueryBundle

from rl_rewriter.integrations._llama_index_events import RewriteDecisionEvent, dispatch_decision
from tests.unit.telemetry.parts import QUESTION, decided


class Deciding(BaseRetriever):
    """Tells of a decision, as a retriever of ours does."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        dispatch_decision(decided(), n_documents=0)
        return []


class Hearing(BaseEventHandler):
    heard: list[Any] = []  # noqa: RUF012  # a field of pydantic's, copied for each object
    fails: bool = False

    @classmethod
    def class_name(cls) -> str:
        return "Hearing"

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.heard.append(event)
        if self.fails:
            raise RuntimeError("handler is broken")


@pytest.fixture
def handler() -> Iterator[Hearing]:
    root = get_dispatcher()
    hearing = Hearing()
    root.add_event_handler(hearing)
    yield hearing
    root.event_handlers.remove(hearing)


def test_a_handler_hears_of_it_within_the_retrievers_span(handler: Hearing) -> None:
    with instrument_tags({"user": "u1"}):
        Deciding().retrieve(QUESTION)
    [event] = [e for e in handler.heard if isinstance(e, RewriteDecisionEvent)]
    [started] = [e for e in handler.heard if isinstance(e, RetrievalStartEvent)]
    assert event.class_name() == "RewriteDecisionEvent"
    assert (event.action, event.propensity, event.n_documents) == ("keywords", 0.3, 0)
    assert event.tags == {"user": "u1"}
    assert event.span_id is not None
    assert started.span_id is not None
    assert "money" not in str(event.model_dump())


def test_a_handler_that_raises_stops_no_retrieval(handler: Hearing) -> None:
    handler.fails = True
    assert Deciding().retrieve(QUESTION) == []
    assert any(isinstance(event, RewriteDecisionEvent) for event in handler.heard)
