"""What telemetry reads of a finished request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rl_rewriter.types import RewriteDecision


class FinishedRequest(Protocol):
    """One served request; :class:`rl_rewriter.serving.events.Served` is one."""

    @property
    def decision(self) -> RewriteDecision:
        """What was decided, its reason included."""
        ...

    @property
    def n_documents(self) -> int | None:
        """How many documents were handed over; None where a text was handed on."""
        ...

    @property
    def searches(self) -> int:
        """Searches made beside the base retriever's."""
        ...

    @property
    def llm_calls(self) -> int:
        """Calls of a language model."""
        ...

    @property
    def seconds(self) -> float:
        """Our own time, without the base retriever's search."""
        ...

    @property
    def adapter(self) -> str:
        """Through what it came: "python", "langchain" or "llama_index"."""
        ...

    @property
    def tags(self) -> Mapping[str, Any]:
        """What the decision log says beside it."""
        ...
