"""Which decisions a feedback is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rl_rewriter.types import Feedback

RUN_TAGS = ("run_id", "parent_run_id", "trace_id")
"""Tags by which feedback finds decisions that it doesn't name, the nearest first."""


class DecisionIndex:
    """Finds rows by the id that feedback names.

    That is the decision's id; where no decision has it, the run, the parent run or the trace of
    decisions whose tags say so. Feedback for a trace is about every decision made in it.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._runs: dict[str, dict[str, list[int]]] = {tag: {} for tag in RUN_TAGS}

    def add(self, record: Mapping[str, Any], row: int) -> bool:
        """Enter a decision record; False where its id is there already, which then stands."""
        id_ = record["id"]
        if self._rows.setdefault(id_, row) != row:
            return False
        tags = record.get("tags")
        if tags:
            for tag, runs in self._runs.items():
                name = tags.get(tag)
                if name is not None:
                    runs.setdefault(str(name), []).append(row)
        return True

    def row(self, decision_id: str) -> int | None:
        """The row of the decision with this very id."""
        return self._rows.get(decision_id)

    def rows(self, name: str) -> Sequence[int]:
        """All rows that feedback for ``name`` is about; none where nobody knows it."""
        row = self._rows.get(name)
        if row is not None:
            return (row,)
        for runs in self._runs.values():
            if name in runs:
                return runs[name]
        return ()


def feedback_of(record: Mapping[str, Any]) -> Feedback:
    """The outcome that a valid feedback record holds."""
    return Feedback(
        decision_id=record["decision_id"],
        value=float(record["value"]),
        kind=record["kind"],
        time=float(record["time"]),
        position=record.get("position"),
        document_id=record.get("document_id"),
    )
