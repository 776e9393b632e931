"""What both adapters hand to the caller: the last decision, and the key that marks documents."""

from __future__ import annotations

from contextvars import ContextVar

from rl_rewriter.types import RewriteDecision

DECISION_ID = "rl_rewriter_decision_id"
"""Metadata key of documents that are tagged with their decision's id."""

last_decision: ContextVar[RewriteDecision | None] = ContextVar("last_decision", default=None)
"""The decision behind the last retrieval of this thread or task; None before the first."""
