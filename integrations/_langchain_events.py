"""Each decision as a custom event of LangChain: ``astream_events``, ``on_custom_event``.

The event belongs to the run of the step or retriever that decided, and holds no word of the query.
"""

from __future__ import annotations

import logging
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event

from rl_rewriter.telemetry.attributes import decision_fields
from rl_rewriter.types import RewriteDecision

__all__ = ["EVENT", "adispatch_decision", "dispatch_decision"]

EVENT = "rl_rewriter_decision"
Run = CallbackManagerForChainRun | CallbackManagerForRetrieverRun
AsyncRun = AsyncCallbackManagerForChainRun | AsyncCallbackManagerForRetrieverRun

_logger = logging.getLogger(__name__)


def dispatch_decision(
    decision: RewriteDecision, run: Run, *, n_documents: int | None = None
) -> None:
    """Tell the callbacks of a run what was decided; never raises.

    Args:
        decision: The decision.
        run: The run that is open now, of our own step or retriever.
        n_documents: Documents handed over; None where a text was handed on.
    """
    try:
        if run.inheritable_handlers:
            manager = run.get_child()
            data = _data(decision, n_documents)
            dispatch_custom_event(EVENT, data, config={"callbacks": manager})
    except Exception as error:
        _not_told(error)


async def adispatch_decision(
    decision: RewriteDecision, run: AsyncRun, *, n_documents: int | None = None
) -> None:
    """As :func:`dispatch_decision`, on the event loop."""
    try:
        if run.inheritable_handlers:
            manager = run.get_child()
            data = _data(decision, n_documents)
            await adispatch_custom_event(EVENT, data, config={"callbacks": manager})
    except Exception as error:
        _not_told(error)


def _data(decision: RewriteDecision, n_documents: int | None) -> dict[str, Any]:
    return {**decision_fields(decision), "n_documents": n_documents}


def _not_told(error: Exception) -> None:
    """A handler that raises is its owner's business, not the chain's."""
    _logger.warning("a handler of the event %s failed: %s", EVENT, type(error).__name__)
