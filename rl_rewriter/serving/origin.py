"""Where a request comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a request comes from.

    Attributes:
        adapter: "python", "langchain" or "llama_index".
        session: The conversation's name, or that of the decision.
        seed: Of this request's exploration; None for the rewriter's own.
        tags: What the decision log says beside the decision.
    """

    adapter: str = "python"
    session: str = ""
    seed: int | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)
