"""A finished request as the serving layer tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.types import Query, Rewrite, RewriteDecision, ScoredDocument

QUESTION = "how do I get my money back?"
DOCUMENTS = (ScoredDocument("refund", 0.75), ScoredDocument("return", None))


@dataclass(frozen=True)
class Finished:
    """What listeners are called with."""

    decision: RewriteDecision
    n_documents: int | None = 2
    searches: int = 1
    llm_calls: int = 0
    seconds: float = 0.25
    adapter: str = "python"
    tags: Mapping[str, Any] = field(default_factory=lambda: {"session_id": "s1"})
    documents: Sequence[ScoredDocument] | None = DOCUMENTS


def decided(**changes: Any) -> RewriteDecision:
    """A drawn rewrite."""
    given: dict[str, Any] = {
        "id": "d1",
        "query": Query(QUESTION),
        "rewrite": Rewrite(("money back",)),
        "action": "keywords",
        "strength": 1.0,
        "propensity": 0.3,
        "probabilities": {"keep": 0.7, "keywords": 0.3},
        "preferences": {"keep": 0.7, "keywords": 0.3},
        "policy_name": "mlp",
        "policy_version": "abc",
        "reason": "explored",
        "state": (0.5, -1.0),
        "state_schema": "f00d",
        "time": 1_767_225_600.0,
        "latency_ms": 12.5,
        "cost": 0.01,
    }
    return RewriteDecision(**{**given, **changes})
