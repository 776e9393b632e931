"""What a decision log holds, before anything is learned from it."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.logs.joining import DecisionIndex
from rl_rewriter.logs.reader import Records, records_from
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.usable import why_not_usable
from rl_rewriter.types import OnProgress

_MAX_NAMES = 1_000
"""Distinct names of one sort that are counted apart; what comes later is "(other)"."""


@dataclass(frozen=True)
class LogSummary:
    """Counts of one log.

    Attributes:
        records: Valid records.
        decisions: Decisions among them.
        feedback: Feedback among them.
        with_propensity: Decisions whose propensity is known.
        usable: Decisions that something can be learned from once feedback comes.
        not_usable: Reason -> decisions that don't.
        without_feedback: Decisions for which nothing has come.
        unknown_decision: Feedback about no decision of this log.
        actions: Action -> decisions, most frequent first.
        reasons: Reason as logged -> decisions.
        policies: Policy version -> decisions.
        kinds: Kind -> feedback.
        propensity: Least, median and greatest known propensity; None where none is.
        times: First and last decision in seconds since the epoch; None where there is none.
        skipped: Reason -> lines that are no record.
        problems: The first of what is wrong, in words.
    """

    records: int
    decisions: int
    feedback: int
    with_propensity: int
    usable: int
    not_usable: Mapping[str, int]
    without_feedback: int
    unknown_decision: int
    actions: Mapping[str, int]
    reasons: Mapping[str, int]
    policies: Mapping[str, int]
    kinds: Mapping[str, int]
    propensity: tuple[float, float, float] | None
    times: tuple[float, float] | None
    skipped: Mapping[str, int]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``logs inspect --json`` prints."""
        names = ("min", "median", "max")
        return {
            "schema": 1,
            "records": self.records,
            "decisions": self.decisions,
            "feedback": self.feedback,
            "with_propensity": self.with_propensity,
            "skipped": dict(self.skipped),
            "actions": dict(self.actions),
            "problems": list(self.problems),
            "usable": self.usable,
            "not_usable": dict(self.not_usable),
            "without_feedback": self.without_feedback,
            "unknown_decision": self.unknown_decision,
            "reasons": dict(self.reasons),
            "policies": dict(self.policies),
            "kinds": dict(self.kinds),
            "propensity": dict(zip(names, self.propensity, strict=True))
            if self.propensity
            else None,
            "first_time": self.times[0] if self.times else None,
            "last_time": self.times[1] if self.times else None,
        }


def summarise(
    source: str | Path | Records, *, strict: bool = False, on_progress: OnProgress | None = None
) -> LogSummary:
    """Count what a log holds; of each decision only the id is kept.

    Args:
        source: The log's file in any form, or its records.
        strict: Stop at the first problem.
        on_progress: Called with stage, done, total.

    Raises:
        InputError: The file can't be read, or holds lines but no record; or there is a problem and
            ``strict``.
    """
    reading = ReadReport(strict=strict, warns=False, on_progress=on_progress)
    counting = _Counting(reading)
    for record in records_from(source, reading):
        if record["type"] == "decision":
            counting.decision(record)
        else:
            counting.feedback(record)
    if not reading.records and reading.problems:
        raise InputError(f"there is no record of a decision log: {reading.problems[0]}")
    return counting.summary()


class _Counting:
    """The counts while a log is read."""

    def __init__(self, reading: ReadReport) -> None:
        self._reading = reading
        self._index = DecisionIndex()
        self._answered = bytearray()
        self._early: list[str] = []
        self._n_feedback = 0
        self._names: dict[str, Counter[str]] = {
            sort: Counter() for sort in ("action", "reason", "policy_version", "kind")
        }
        self._not_usable: Counter[str] = Counter()
        self._propensities = array("f")
        self._first, self._last = math.inf, -math.inf

    def decision(self, record: Mapping[str, Any]) -> None:
        """Count one valid decision."""
        self._index.add(record, len(self._answered))
        self._answered.append(0)
        for sort in ("action", "reason", "policy_version"):
            self._count(sort, record.get(sort) or "")
        if record.get("propensity") is not None:
            self._propensities.append(record["propensity"])
        self._first = min(self._first, record["time"])
        self._last = max(self._last, record["time"])
        problem = why_not_usable(record)
        if problem is not None:
            self._not_usable[problem.reason] += 1
            if problem.sentence:
                self._reading.tell(
                    f"{self._reading.where} {problem.sentence}", "and can't be learned from"
                )

    def feedback(self, record: Mapping[str, Any]) -> None:
        """Count one valid feedback."""
        self._n_feedback += 1
        self._count("kind", record["kind"])
        row = self._index.row(record["decision_id"])
        if row is None:
            self._early.append(record["decision_id"])
        else:
            self._answered[row] = 1

    def summary(self) -> LogSummary:
        """What was counted."""
        unknown = 0
        for name in self._early:
            rows = self._index.rows(name)
            unknown += not rows
            for row in rows:
                self._answered[row] = 1
        known, n = np.asarray(self._propensities), len(self._answered)
        return LogSummary(
            records=self._reading.records,
            decisions=n,
            feedback=self._n_feedback,
            with_propensity=len(known),
            usable=n - self._not_usable.total(),
            not_usable=dict(self._not_usable.most_common()),
            without_feedback=n - sum(self._answered),
            unknown_decision=unknown,
            actions=dict(self._names["action"].most_common()),
            reasons=dict(self._names["reason"].most_common()),
            policies=dict(self._names["policy_version"].most_common()),
            kinds=dict(self._names["kind"].most_common()),
            propensity=(float(known.min()), float(np.median(known)), float(known.max()))
            if len(known)
            else None,
            times=(self._first, self._last) if n else None,
            skipped=dict(self._reading.skipped),
            problems=tuple(self._reading.problems),
        )

    def _count(self, sort: str, name: str) -> None:
        counter = self._names[sort]
        known = name in counter or len(counter) < _MAX_NAMES
        counter[name if known else "(other)"] += 1
