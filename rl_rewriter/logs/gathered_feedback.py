"""All feedback of a log in columns, joined to the rows of the decisions that can be used."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from rl_rewriter.logs.columns import Integers, Ragged
from rl_rewriter.logs.joining import DecisionIndex
from rl_rewriter.rewards.composition import FeedbackColumns

MAX_KINDS = 100
NO_ROW = -1
"""Row of decisions that can't be used, so that their feedback isn't taken for nobody's."""
_PENDING = -2
_WHOLE_LIST = -1


class GatheredFeedback:
    """Feedback in order of arrival, before or after its decision.

    Attributes:
        n_records: How much there is.
        left_out: Reason -> how much of it counts for no decision.
    """

    def __init__(self) -> None:
        self.n_records = 0
        self.left_out: Counter[str] = Counter()
        self._kinds: dict[str, int] = {}
        self._rows = array("q")
        self._codes = array("q")
        self._values = array("d")
        self._times = array("d")
        self._ranks = array("q")
        self._documents: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def append(self, record: Mapping[str, Any], index: DecisionIndex) -> None:
        """Take in one valid record."""
        self.n_records += 1
        name, kind = record["decision_id"], record["kind"]
        row = index.row(name)
        if row == NO_ROW:
            return
        if kind not in self._kinds and len(self._kinds) >= MAX_KINDS:
            self.left_out["too_many_kinds"] += 1
            return
        number = len(self._rows)
        if row is None:
            self._names[number] = name
        rank, document = record.get("position"), record.get("document_id")
        if rank is None and document is not None:
            self._documents[number] = hash(document)
        self._rows.append(_PENDING if row is None else row)
        self._codes.append(self._kinds.setdefault(kind, len(self._kinds)))
        self._values.append(record["value"])
        self._times.append(record["time"])
        self._ranks.append(_WHOLE_LIST if rank is None else rank)

    def joined(self, index: DecisionIndex, documents: Ragged) -> FeedbackColumns:
        """Everything that is about a row, once a row.

        Feedback that names a document without its rank gets the rank from what the decision
        returned; a document that it didn't return is no merit of it.

        Args:
            index: The decisions, all of them by now.
            documents: Hashes of the ids that each row returned, best first.
        """
        numbers, rows = self._pairs(index)
        ranks = np.asarray(self._ranks, dtype=np.intp)[numbers]
        counts = np.ones(len(rows), dtype=bool)
        named = np.isin(numbers, np.asarray(list(self._documents), dtype=np.intp))
        for place in np.flatnonzero(named).tolist():
            returned = documents.row(int(rows[place]))
            wanted = self._documents[int(numbers[place])]
            if wanted in returned:
                ranks[place] = returned.index(wanted)
            elif returned:
                counts[place] = False
        self.left_out["document_not_returned"] += int((~counts).sum())
        numbers, rows, ranks = numbers[counts], rows[counts], ranks[counts]
        return FeedbackColumns(
            rows=rows,
            kinds=np.asarray(self._codes, dtype=np.intp)[numbers],
            values=np.asarray(self._values)[numbers],
            times=np.asarray(self._times)[numbers],
            positions=ranks,
            names=tuple(self._kinds),
        )

    def _pairs(self, index: DecisionIndex) -> tuple[Integers, Integers]:
        """Numbers of feedback beside the rows that each is about, in order of arrival."""
        known = np.asarray(self._rows, dtype=np.intp)
        later_numbers, later_rows = array("q"), array("q")
        for number, name in self._names.items():
            found = index.rows(name)
            if not found:
                self.left_out["unknown_decision"] += 1
            usable = [row for row in found if row != NO_ROW]
            later_numbers.extend([number] * len(usable))
            later_rows.extend(usable)
        numbers = np.flatnonzero(known != _PENDING)
        rows = np.concatenate([known[numbers], np.asarray(later_rows, dtype=np.intp)])
        numbers = np.concatenate([numbers, np.asarray(later_numbers, dtype=np.intp)])
        order = np.argsort(numbers, kind="stable")
        return numbers[order], rows[order]
