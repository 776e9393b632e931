"""What became of the records of a log on their way to a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DatasetReport:
    """What a log held, and why some of it became no row.

    Attributes:
        records: Valid records.
        decisions: Decisions among them.
        feedback: Feedback among them.
        rows: Decisions that became rows.
        defaulted: Rows that have the default reward, since no feedback came in time.
        without_propensity: Rows that can't be weighted: only predicting rewards is left for them.
        counts: Reason -> decisions that became no row.
        feedback_counts: Reason -> feedback that counts for none.
        skipped: Reason -> lines that are no record.
        off_scale: Kind -> values of feedback that are off its scale.
        problems: The first of what is wrong with the log, in words.
    """

    records: int
    decisions: int
    feedback: int
    rows: int
    defaulted: int
    without_propensity: int
    counts: Mapping[str, int]
    feedback_counts: Mapping[str, int]
    skipped: Mapping[str, int]
    off_scale: Mapping[str, int]
    problems: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the log, and whether most decisions are missing from the rows."""
        silent = self.counts.get("no_feedback", 0)
        if 2 * silent <= self.rows + silent:
            return self.problems
        return (
            f"{silent} of {self.rows + silent} decisions have no feedback and were left out: if "
            "bad outcomes are told less often than good ones, rewards are too high; a default "
            "reward keeps those decisions in",
            *self.problems,
        )

    @property
    def in_words(self) -> str:
        """One line: "60 of 100 decisions (30 fallback, 10 no_feedback left out)"."""
        reasons = ", ".join(f"{n} {reason}" for reason, n in self.counts.items())
        left_out = f" ({reasons} left out)" if reasons else ""
        return f"{self.rows} of {self.decisions} decisions{left_out}"


def off_scale_problem(kind: str, n: int) -> str:
    """What to say of values of feedback that are off the scale of their kind."""
    return f"{n} feedback values of kind {kind!r} are off its scale"
