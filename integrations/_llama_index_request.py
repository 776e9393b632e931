"""A request of a LlamaIndex component, with what instrumentation says of its conversation."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # public there
    active_instrument_tags,
)

from rl_rewriter.integrations._serving import Request
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import Query


def request_of(
    rewriter: RLQueryRewriter, question: str, history: Any, *, explore: bool = False
) -> Request:
    """A request under a name of its own.

    ``with instrument_tags({"session_id": ..., "rl_rewriter_seed": ...})`` around a call names its
    conversation and the seed of its exploration.
    """
    tags = active_instrument_tags.get()
    return Request.opened(
        rewriter,
        Query(question),
        history,
        adapter="llama_index",
        decision_id=uuid.uuid4().hex,
        explore=explore,
        told=tags if isinstance(tags, Mapping) else None,
    )
