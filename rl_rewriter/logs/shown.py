"""What logged decisions asked and what came back, in words and ids, to be searched again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rl_rewriter.logs.asked import asked_of
from rl_rewriter.logs.reader import Records, records_from
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.types import Query

LISTED = 10
"""Documents of each list that are looked at."""


@dataclass(frozen=True, eq=False)
class ShownLists:
    """Queries and result lists of ``n`` decisions.

    Attributes:
        queries: The distinct queries, each with an id of its own.
        rows: Which of them each decision asked, ``(n,)``; -1 where the log doesn't hold what was
            asked, or nothing of what was shown.
        documents: Ids of all listed documents.
        lists: Which of them each decision showed, best first, ``(n, LISTED)``; -1 for none.
    """

    queries: tuple[Query, ...]
    rows: npt.NDArray[np.intp]
    documents: tuple[str, ...]
    lists: npt.NDArray[np.int32]

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.rows)

    @property
    def depth(self) -> int:
        """Documents of a typical list, at most ``LISTED``: their median, at least 1."""
        lengths = (self.lists[self.rows >= 0] >= 0).sum(axis=1)
        return max(1, int(np.ceil(np.median(lengths)))) if len(lengths) else LISTED


def read_shown(source: str | Path | Records, decision_ids: Sequence[str]) -> ShownLists:
    """Read a log for the words and lists of some of its decisions.

    Args:
        source: The log's file in any form, or its records.
        decision_ids: The decisions, in the order wanted.

    Raises:
        InputError: The file can't be read.
    """
    place = {id_: row for row, id_ in enumerate(dict.fromkeys(decision_ids))}
    wanted = np.fromiter((place[id_] for id_ in decision_ids), np.intp, len(decision_ids))
    rows = np.full(len(place), -1, dtype=np.intp)
    lists = np.full((len(place), LISTED), -1, dtype=np.int32)
    queries: dict[Query, int] = {}
    documents: dict[str, int] = {}
    for record in records_from(source, ReadReport()):
        row = place.pop(record["id"], -1) if record["type"] == "decision" else -1
        if row < 0:  # not wanted, or its first record was read
            continue
        query = asked_of(record)
        shown = list(dict.fromkeys(entry["id"] for entry in record.get("documents") or ()))
        if query is None or not shown:
            continue
        rows[row] = queries.setdefault(query, len(queries))
        found = [documents.setdefault(id_, len(documents)) for id_ in shown[:LISTED]]
        lists[row, : len(found)] = found
    named = tuple(
        Query(query.text, query.history, query.filters, id=f"logged-{number}")
        for query, number in queries.items()
    )
    return ShownLists(named, rows[wanted], tuple(documents), lists[wanted])
