"""The records of a span of time: decisions made in it, with all that came of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.joining import DecisionIndex


@dataclass(frozen=True)
class Window:
    """Times in seconds since the epoch, from ``since`` on and before ``until``.

    Two windows that share an end have no decision in common: one to learn from, one to judge by.
    """

    since: float = -math.inf
    until: float = math.inf

    def __post_init__(self) -> None:
        """Refuse windows that nothing lies in."""
        if not self.since < self.until:
            raise InputError(f"since must be before until, got {self.since} and {self.until}")

    def __contains__(self, time: float) -> bool:
        """Whether it lies in the window."""
        return self.since <= time < self.until


def index_of(records: Iterable[Mapping[str, Any]], window: Window) -> DecisionIndex:
    """The decisions of a log, those of the window as row 1 and all others as row 0."""
    index = DecisionIndex()
    for record in records:
        if record["type"] == "decision":
            index.add(record, int(record["time"] in window))
    return index


def within(
    records: Iterable[Mapping[str, Any]], index: DecisionIndex
) -> Iterator[Mapping[str, Any]]:
    """Decisions of a window, and the feedback about them whatever its own time.

    Feedback about a trace that has decisions on both sides belongs to both.

    Args:
        records: Of a log.
        index: Of :func:`index_of`, over all records, since feedback may come before its decision.
            Of decisions with one id the first counts, and the others go with it.
    """
    for record in records:
        if record["type"] == "decision":
            if index.row(record["id"]) == 1:
                yield record
        elif 1 in index.rows(record["decision_id"]):
            yield record
