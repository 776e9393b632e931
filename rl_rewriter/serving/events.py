"""What is told of each finished request, and to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rl_rewriter.types import RewriteDecision


@dataclass(frozen=True)
class Served:
    """One finished request.

    Attributes:
        decision: What was decided, its reason included.
        n_documents: How many documents were handed over; None where a text was handed on.
        searches: Searches made beside the base retriever's.
        llm_calls: Calls of a language model.
        seconds: Our own time: deciding, our searches, the log; not the base retriever's.
        adapter: "python", "langchain" or "llama_index".
        tags: What the decision log says beside it.
    """

    decision: RewriteDecision
    n_documents: int | None
    searches: int
    llm_calls: int
    seconds: float
    adapter: str
    tags: Mapping[str, Any]


class Listener(Protocol):
    """Anything that can be called with a finished request."""

    def __call__(self, served: Served, /) -> None:
        """Take note of it; an error here is counted and warned of, and stops no chain."""
        ...
