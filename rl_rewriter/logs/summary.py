"""What a decision log holds, before anything is learned from it."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.logs.columns import MAX_SCHEMAS
from rl_rewriter.logs.dataset_report import off_scale_problem
from rl_rewriter.logs.joining import DecisionIndex
from rl_rewriter.logs.reader import Records, records_from
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.usable import why_not_usable
from rl_rewriter.rewards.feedback import kind_named
from rl_rewriter.types import OnProgress

_MAX_NAMES = 1_000
"""Distinct names of one sort that are counted apart; what comes later is "(other)"."""
_LEFT_OUT = {
    "duplicate_id": "have the id of an earlier one",
    "no_state": "have no state, which others have",
    "other_state_schema": "have states of other features (state_schema) than most",
}


@dataclass(frozen=True)
class LogSummary:
    """Counts of one log.

    Attributes:
        records: Valid records.
        decisions: Decisions among them.
        feedback: Feedback among them.
        with_propensity: Decisions whose propensity is known.
        usable: Decisions that something can be learned from once feedback comes.
        with_state: Those of them whose state was logged.
        not_usable: Reason -> decisions that don't.
        without_feedback: Decisions for which nothing has come.
        unknown_decision: Feedback about no decision of this log.
        actions: Action -> decisions, most frequent first.
        reasons: Reason as logged -> decisions.
        policies: Policy version -> decisions.
        kinds: Kind -> feedback.
        off_scale: Kind -> values of feedback that are off its scale.
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
    with_state: int
    not_usable: Mapping[str, int]
    without_feedback: int
    unknown_decision: int
    actions: Mapping[str, int]
    reasons: Mapping[str, int]
    policies: Mapping[str, int]
    kinds: Mapping[str, int]
    off_scale: Mapping[str, int]
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
            "with_state": self.with_state,
            "not_usable": dict(self.not_usable),
            "without_feedback": self.without_feedback,
            "unknown_decision": self.unknown_decision,
            "reasons": dict(self.reasons),
            "policies": dict(self.policies),
            "kinds": dict(self.kinds),
            "off_scale": dict(self.off_scale),
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
            sort: Counter() for sort in ("action", "reason", "policy_version", "kind", "off_scale")
        }
        self._not_usable: Counter[str] = Counter()
        self._schemas: Counter[tuple[str, int]] = Counter()
        self._n_decisions = 0
        self._propensities = array("f")
        self._first, self._last = math.inf, -math.inf

    def decision(self, record: Mapping[str, Any]) -> None:
        """Count one valid decision."""
        self._n_decisions += 1
        is_new = self._index.add(record, len(self._answered))
        if is_new:
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
        elif not is_new:
            self._not_usable["duplicate_id"] += 1
        elif record.get("state"):
            schema = record.get("state_schema") or "", len(record["state"])
            if schema in self._schemas or len(self._schemas) < MAX_SCHEMAS:
                self._schemas[schema] += 1

    def feedback(self, record: Mapping[str, Any]) -> None:
        """Count one valid feedback."""
        self._n_feedback += 1
        self._count("kind", record["kind"])
        if not kind_named(record["kind"]).is_on_scale(record["value"]):
            self._count("off_scale", record["kind"])
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
        known, n = np.asarray(self._propensities), self._n_decisions
        off_scale = dict(self._names["off_scale"].most_common())
        with_state = self._leave_out_states()
        return LogSummary(
            records=self._reading.records,
            decisions=n,
            feedback=self._n_feedback,
            with_propensity=len(known),
            usable=n - self._not_usable.total(),
            not_usable=dict(self._not_usable.most_common()),
            with_state=with_state,
            without_feedback=len(self._answered) - sum(self._answered),
            unknown_decision=unknown,
            actions=dict(self._names["action"].most_common()),
            reasons=dict(self._names["reason"].most_common()),
            policies=dict(self._names["policy_version"].most_common()),
            kinds=dict(self._names["kind"].most_common()),
            off_scale=off_scale,
            propensity=(float(known.min()), float(np.median(known)), float(known.max()))
            if len(known)
            else None,
            times=(self._first, self._last) if n else None,
            skipped=dict(self._reading.skipped),
            problems=(*self._left_out(off_scale), *self._reading.problems),
        )

    def _leave_out_states(self) -> int:
        """How many decisions have the states that a dataset takes; the others aren't usable."""
        if not self._schemas:
            return 0
        n_usable = self._n_decisions - self._not_usable.total()
        n_states, most = self._schemas.total(), max(self._schemas.values())
        self._not_usable["no_state"] += n_usable - n_states
        self._not_usable["other_state_schema"] += n_states - most
        self._not_usable = +self._not_usable
        return most

    def _left_out(self, off_scale: Mapping[str, int]) -> Iterator[str]:
        for reason, sentence in _LEFT_OUT.items():
            if self._not_usable[reason]:
                yield f"{self._not_usable[reason]} decisions {sentence}, and can't be learned from"
        for kind, n in off_scale.items():
            yield f"{off_scale_problem(kind, n)}, and count for nothing"

    def _count(self, sort: str, name: str) -> None:
        counter = self._names[sort]
        known = name in counter or len(counter) < _MAX_NAMES
        counter[name if known else "(other)"] += 1
