"""Judgements laid over rankings: which grade stands at which rank, for all queries and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Qrels

Gains = npt.NDArray[np.float64]
Ranked = npt.NDArray[np.int32]
"""Shape ``(n, m, k)``: for each query and action the first ``k`` documents, best first, as
positions in a list of document ids; -1 where fewer were found."""
_CHUNK_CELLS = 5_000_000


@dataclass(frozen=True, eq=False)
class JudgedRankings:
    """What metrics are computed from.

    Attributes:
        gains: Grade of the document at each rank, ``(n, m, k)``: 0 where it isn't relevant, isn't
            judged, or stood further up already.
        ideal: The grades of a query's relevant documents, best first, ``(n, k)``, padded with 0.
        n_relevant: Number of a query's relevant documents, ``(n,)``.
    """

    gains: Gains
    ideal: Gains
    n_relevant: Gains

    @property
    def depth(self) -> int:
        """Ranks that were looked at."""
        return int(self.gains.shape[-1])


@dataclass(frozen=True, eq=False)
class Judgements:
    """The positive judgements of ``n`` queries as arrays, ``j`` pairs ordered by query.

    Attributes:
        n_queries: Number of queries.
        n_documents: Number of documents that were ranked or judged.
        rows: The query of each pair, ``(j,)``, ascending.
        documents: The document of each pair, ``(j,)``, ascending within a query.
        grades: Its grade, ``(j,)``, above 0.
    """

    n_queries: int
    n_documents: int
    rows: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    grades: Gains

    @classmethod
    def of(cls, query_ids: Sequence[str], documents: Sequence[str], qrels: Qrels) -> Judgements:
        """Number the judgements of queries.

        Args:
            query_ids: The ``n`` queries.
            documents: Ids by position; judged documents that aren't among them get a number too.
            qrels: Judgements by query id.
        """
        position = {id_: number for number, id_ in enumerate(documents)}
        pairs = [
            (row, position.setdefault(id_, len(position)), float(grade))
            for row, query_id in enumerate(query_ids)
            for id_, grade in qrels.get(query_id, {}).items()
            if grade > 0
        ]
        found = np.asarray(pairs, dtype=np.float64).reshape(-1, 3)
        found = found[np.lexsort((found[:, 1], found[:, 0]))]
        rows, columns = found[:, 0].astype(np.int64), found[:, 1].astype(np.int64)
        return cls(len(query_ids), len(position), rows, columns, found[:, 2])

    def where(self, kept: npt.NDArray[np.bool_]) -> Judgements:
        """Some of the pairs, ``kept (j,)``: the others count as not judged."""
        return Judgements(
            self.n_queries,
            self.n_documents,
            self.rows[kept],
            self.documents[kept],
            self.grades[kept],
        )

    def judge(self, ranked: Ranked) -> JudgedRankings:
        """Look up every ranked document, ``ranked (n, m, k)``."""
        gains = np.empty(ranked.shape)
        chunk = max(1, _CHUNK_CELLS // max(1, ranked[0].size if len(ranked) else 1))
        for start in range(0, len(ranked), chunk):
            rows = slice(start, start + chunk)
            gains[rows] = self._gains(ranked[rows], start)
        n_relevant = np.bincount(self.rows, minlength=self.n_queries)
        return JudgedRankings(gains, self._ideal(ranked.shape[-1]), n_relevant.astype(np.float64))

    def _gains(self, ranked: Ranked, first_row: int) -> Gains:
        if not len(self.rows):
            return np.zeros(ranked.shape)
        known = self.rows * self.n_documents + self.documents
        row = np.arange(first_row, first_row + len(ranked), dtype=np.int64)[:, None, None]
        asked = row * self.n_documents + ranked
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        gains = np.where((known[place] == asked) & (ranked >= 0), self.grades[place], 0.0)
        _blank_repeats(ranked, gains)
        return gains

    def _ideal(self, depth: int) -> Gains:
        order = np.lexsort((-self.grades, self.rows))
        rows, grades = self.rows[order], self.grades[order]
        starts = np.searchsorted(rows, np.arange(self.n_queries))
        rank = np.arange(len(rows)) - starts[rows]
        ideal = np.zeros((self.n_queries, depth))
        within = rank < depth
        ideal[rows[within], rank[within]] = grades[within]
        return ideal


def _blank_repeats(ranked: Ranked, gains: Gains) -> None:
    """A document that stands twice in a ranking counts once, where it stands first."""
    in_order = np.sort(ranked, axis=-1)
    repeated = ((in_order[..., 1:] == in_order[..., :-1]) & (in_order[..., 1:] >= 0)).any(axis=-1)
    for row, column in np.argwhere(repeated):
        _, first = np.unique(ranked[row, column], return_index=True)
        again = np.ones(ranked.shape[-1], dtype=np.bool_)
        again[first] = False
        gains[row, column, again] = 0.0
