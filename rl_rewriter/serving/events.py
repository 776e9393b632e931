"""What is told of each finished request, and to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rl_rewriter.types import Feedback, RewriteDecision, ScoredDocument


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
        documents: Those that were handed over; None where a text was handed on.
    """

    decision: RewriteDecision
    n_documents: int | None
    searches: int
    llm_calls: int
    seconds: float
    adapter: str
    tags: Mapping[str, Any]
    documents: Sequence[ScoredDocument] | None = None


class Listener(Protocol):
    """Anything that can be called with a finished request."""

    def __call__(self, served: Served, /) -> None:
        """Take note of it; an error here is counted and warned of, and stops no chain."""
        ...


@runtime_checkable
class FeedbackListener(Protocol):
    """A listener that wants to know what came of decisions, too."""

    def on_feedback(self, feedback: Feedback, /) -> None:
        """Take note of an outcome; an error here is counted and warned of, and goes no further."""
        ...
