"""What an import read, wrote and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.logs.report import ReadReport


@dataclass(frozen=True)
class ImportReport:
    """Counts of one import.

    Attributes:
        tool: Whose export it was.
        read: Rows read.
        decisions: Decision records written.
        feedback: Feedback records written.
        actions: Action -> decisions.
        with_propensity: Decisions with a propensity: those of this package's own spans.
        skipped: Reason -> rows, spans or verdicts that became no record.
        notes: What else should be known -> how often.
        problems: The first twenty rows that should have become a record and couldn't, with file
            and line; all are counted in ``skipped``.
    """

    tool: str
    read: int
    decisions: int
    feedback: int
    actions: Mapping[str, int]
    with_propensity: int
    skipped: Mapping[str, int]
    notes: Mapping[str, int]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``logs import --json`` prints."""
        return {
            "schema": 1,
            "records": self.decisions + self.feedback,
            "decisions": self.decisions,
            "feedback": self.feedback,
            "with_propensity": self.with_propensity,
            "skipped": dict(self.skipped),
            "actions": dict(self.actions),
            "problems": list(self.problems),
            "read": self.read,
            "notes": dict(self.notes),
        }


@dataclass
class Tally:
    """Counts while an import runs."""

    reading: ReadReport = field(default_factory=ReadReport)
    read: int = 0
    recognised: int = 0
    feedback: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    with_propensity: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def report(self, tool: str) -> ImportReport:
        """The counts, the most frequent first."""
        return ImportReport(
            tool=tool,
            read=self.read,
            decisions=sum(self.actions.values()),
            feedback=self.feedback,
            actions=dict(self.actions.most_common()),
            with_propensity=self.with_propensity,
            skipped=dict(self.reading.skipped.most_common()),
            notes=dict(self.notes.most_common()),
            problems=tuple(self.reading.problems),
        )
