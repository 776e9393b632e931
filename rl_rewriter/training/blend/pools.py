"""What blends are trained on: for each query its candidates, scored by every view, with grades."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.judged import Gains, JudgedRankings
from rl_rewriter.types import Vector

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float32]
"""Shape ``(n, p, v)``: for each query and candidate its score by each view."""


@dataclass(frozen=True, eq=False)
class Pools:
    """Candidates of ``n`` queries, at most ``p`` each, scored by ``v`` views.

    The candidates of a query stand in descending order of their ids, which is how ties are broken.

    Attributes:
        views: Names of the views, the query itself first.
        is_lexical: Which views are BM25 scores, to be fused with the others, ``(v,)``.
        scores: Shape ``(n, p, v)``, 0 where there is no candidate or the view is absent.
        mask: Where there is a candidate, ``(n, p)``; nowhere for a query that finds nothing.
        gains: Grade of each candidate, ``(n, p)``, 0 where it isn't relevant or isn't judged.
        ideal: Grades of all relevant documents, also of those that no view finds, best first,
            ``(n, r)``, padded with 0.
        n_relevant: Their number, ``(n,)``.
        present: Which views each query has, ``(n, v)``; always the first.
        floors: Score by each dense view of the last document that a search of it alone returns,
            ``(n, v)``: what a document counts for that the search lacks; 0 for the others.
        documents: Ids of documents.
        candidates: Which of them each candidate is, ``(n, p)``, -1 where there is none.
    """

    views: tuple[str, ...]
    is_lexical: Mask
    scores: Scores
    mask: Mask
    gains: npt.NDArray[np.float32]
    ideal: Gains
    n_relevant: Gains
    present: Mask
    floors: npt.NDArray[np.float32]
    documents: tuple[str, ...]
    candidates: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        """Check that all of it speaks of the same queries, candidates and views."""
        n, p, v = self.scores.shape
        wanted = {
            "is_lexical": (v,),
            "mask": (n, p),
            "gains": (n, p),
            "candidates": (n, p),
            "n_relevant": (n,),
            "present": (n, v),
            "floors": (n, v),
        }
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise InputError(
                    f"{name} of pools must have the shape {shape}, got {getattr(self, name).shape}"
                )
        if len(self.views) != v or len(self.ideal) != n:
            raise InputError(f"pools of {n} queries and {v} views need as many names and ideals")
        if not self.present[:, 0].all():
            raise InputError("every query of the pools needs the first view, which is its own")

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.scores)

    @property
    def content(self) -> str:
        """Digest of all of it: equal pools train equal blends."""
        found = hashlib.sha256("\n".join(self.views).encode())
        for array in (
            self.scores,
            self.mask,
            self.gains,
            self.ideal,
            self.present,
            self.floors,
        ):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def subset(self, rows: Sequence[int] | Rows) -> Pools:
        """The pools of some queries."""
        index = np.asarray(rows, dtype=np.intp)
        of_all = ("views", "is_lexical", "documents")
        return Pools(
            **{
                f.name: getattr(self, f.name) if f.name in of_all else getattr(self, f.name)[index]
                for f in fields(self)
            }
        )

    def of_present_views(self) -> Pools:
        """The same without views that none of these queries has."""
        known = np.asarray(self.present.any(axis=0))
        if known.all():
            return self
        return replace(
            self,
            views=tuple(self.views[view] for view in np.flatnonzero(known)),
            is_lexical=self.is_lexical[known],
            scores=self.scores[:, :, known],
            present=self.present[:, known],
            floors=self.floors[:, known],
        )

    def judge(self, rows: Rows, ranked: npt.NDArray[np.intp], depth: int) -> JudgedRankings:
        """Look up the grades of rankings of candidates.

        Args:
            rows: The queries, ``(b,)``.
            ranked: For each query some rankings, ``(b, m, k)``, as positions in its pool.
            depth: Ranks that a metric will look at; shorter rankings are padded.
        """
        gains = np.take_along_axis(self.gains[rows][:, None, :], ranked, axis=2)
        ideal = self.ideal[rows]
        return JudgedRankings(_wide(gains, depth), _wide(ideal, depth), self.n_relevant[rows])

    def scales(self) -> Vector:
        """Typical range of each view's scores over a pool, ``(v,)``; 1 for one that has none.

        A blend divides its weights by it, and leaves out views whose share is small beside others.
        """
        found = np.ones(len(self.views), dtype=np.float32)
        for view in range(len(self.views)):
            rows = self.present[:, view] & self.mask.any(axis=1)
            if rows.any():
                scores, mask = self.scores[rows, :, view], self.mask[rows]
                highest = np.where(mask, scores, -np.inf).max(axis=1)
                lowest = np.where(mask, scores, np.inf).min(axis=1)
                typical = float((highest - lowest).mean())
                found[view] = typical if typical > 1e-6 else 1.0
        return found


def _wide(grades: npt.NDArray[np.floating], depth: int) -> Gains:
    missing = max(0, depth - grades.shape[-1])
    padding = [(0, 0)] * (grades.ndim - 1) + [(0, missing)]
    return np.pad(grades.astype(np.float64), padding)
