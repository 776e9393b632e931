"""Whose policy decides a request, where that isn't always the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.serving.reasons import UNTRAINED


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What one request is decided by; taken once, so that no request mixes two versions.

    Attributes:
        checkpoint: The policy; None keeps the query.
        tags: What the decision log says of it, such as the name of the rollout.
        shadow: The policy decides and is logged, but keep is served.
        reason: Why the query is kept where there is no checkpoint: a name of
            :data:`rl_rewriter.serving.reasons.FALLBACKS`, or a reason of its own.
    """

    checkpoint: Checkpoint | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)
    shadow: bool = False
    reason: str = UNTRAINED


class Deployment(Protocol):
    """Assigns policies to requests."""

    def choose(self, session: str) -> Assignment:
        """The assignment of a session; equal for equal sessions while nothing is rolled out.

        Called once a request, in a thread of ours and within its time limit.

        Args:
            session: The conversation's name, else the decision's id.
        """
        ...
