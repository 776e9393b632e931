"""Each decision as an event of LlamaIndex's instrumentation, without a word of the query."""

from __future__ import annotations

import logging
from typing import Any

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]  # public there
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.instrumentation.events import BaseEvent

from rl_rewriter.telemetry.attributes import decision_fields
from rl_rewriter.types import RewriteDecision

__all__ = ["RewriteDecisionEvent", "dispatch_decision"]

_logger = logging.getLogger(__name__)
_dispatcher = get_dispatcher("rl_rewriter")


class RewriteDecisionEvent(BaseEvent):
    """What was decided for a query; ``span_id`` is that of the retriever which decided.

    Attributes as those of :class:`rl_rewriter.types.RewriteDecision`; ``fallback`` is what went
    wrong, "" where nothing did, and ``n_documents`` None where a text was handed on.
    """

    decision_id: str
    action: str
    strength: float
    reason: str
    fallback: str
    propensity: float
    explored: bool
    policy_name: str
    policy_version: str
    latency_ms: float
    cost: float
    n_documents: int | None = None

    @classmethod
    def class_name(cls) -> str:
        """Name of the event, by which handlers may tell it."""
        return "RewriteDecisionEvent"


def dispatch_decision(decision: RewriteDecision, *, n_documents: int | None = None) -> None:
    """Tell all event handlers what was decided; never raises.

    Args:
        decision: The decision.
        n_documents: Documents handed over; None where a text was handed on.
    """
    try:
        if not _is_heard():
            return
        fields = {**decision_fields(decision), "n_documents": n_documents}
        _dispatcher.event(RewriteDecisionEvent.model_validate(fields))
    except Exception as error:
        _logger.warning("an event of a decision was not dispatched: %s", type(error).__name__)


def _is_heard() -> bool:
    """Whether any handler would do something with an event."""
    here: Any = _dispatcher
    while here is not None:
        if any(type(handler) is not NullEventHandler for handler in here.event_handlers):
            return True
        here = here.parent if here.propagate else None
    return False
