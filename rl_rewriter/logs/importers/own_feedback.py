"""Feedback in this package's own format, which any export may be joined with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_rewriter.logs.importers.found import Found, Verdict
from rl_rewriter.logs.importers.scalars import name_of, number_of, seconds_of
from rl_rewriter.logs.importers.verdicts import verdict_of


def is_own_feedback(row: Mapping[str, Any]) -> bool:
    """Whether a row is a feedback record of a decision log."""
    return row.get("type") == "feedback" and "decision_id" in row


def own_feedback(row: Mapping[str, Any]) -> list[Found]:
    """The verdict on the span or trace that ``decision_id`` names."""
    position = number_of(row.get("position"))
    verdict = Verdict(
        name=name_of(row.get("kind")),
        value=0.0,
        span=name_of(row.get("decision_id")),
        time=seconds_of(row.get("time")),
        position=int(position) if position is not None and position >= 0 else None,
        document=name_of(row.get("document_id")),
    )
    return verdict_of(verdict, row.get("value"))
