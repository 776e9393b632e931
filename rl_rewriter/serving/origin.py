"""Where a request comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.serving.seeds import checked_seed


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

    @classmethod
    def of_call(cls, *, session: str | None, decision_id: str | None, seed: int | None) -> Origin:
        """A call from Python; its log tells the session, by which a rollout is judged.

        Raises:
            InputError: The seed isn't a whole number.
        """
        tags = {"session_id": session} if session else {}
        return cls(session=session or decision_id or "", seed=checked_seed(seed), tags=tags)
