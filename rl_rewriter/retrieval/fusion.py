"""Fuses a ranking with the BM25 scores of one text or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.ranking import min_max, top_ranking
from rl_rewriter.types import Ranking, Rewrite, Vector

FUSION_DEPTH = 100
"""Documents taken from each ranking before they are fused."""
BLEND_DEPTH = 500
"""The same where BM25 scores a mix of texts, as in a learned blend: its weights were learned on the
scores of all candidates, so that few of them should count as the last one found."""


def depth_of(rewrite: Rewrite) -> int:
    """Documents taken from the base ranking for a rewrite that is fused."""
    return BLEND_DEPTH if rewrite.lexical_texts else FUSION_DEPTH


@dataclass(frozen=True, eq=False)
class ScoredWords:
    """BM25 scores of weighted texts, to be fused with rankings.

    Attributes:
        rows: Document id -> position in ``scores``.
        scores: Shape ``(n + 1,)``: one score a document, then 0 for unknown documents.
        best: The best documents.
    """

    rows: Mapping[str, int]
    scores: Vector
    best: Ranking

    @classmethod
    def of(
        cls, index: Bm25Index, rewrite: Rewrite, allowed: npt.NDArray[np.bool_] | None
    ) -> ScoredWords:
        """Score the words of a rewrite among the documents ``allowed`` ``(n,)``; None allows all.

        Its first text is the query, as a rule, which was scored already where it was looked at.
        """
        scores = index.scores(rewrite.words, allowed, query=rewrite.text)
        best = top_ranking(index.ids, scores, FUSION_DEPTH, above=0.0)
        return cls(index.rows, np.append(scores, np.float32(0.0)), best)

    def fused_with(self, base: Ranking, weight: float, k: int) -> Ranking:
        """The ``k`` best of both rankings' documents by ``(1 - weight) base + weight bm25``.

        Both scores are min-max normalised over the union; documents that ``base`` lacks count as
        its lowest.
        """
        known = set(base.ids)
        ids = base.ids + tuple(id_ for id_ in self.best.ids if id_ not in known)
        lowest = base.scores.min() if len(base) else 0.0
        base_scores = np.full(len(ids), lowest, dtype=np.float32)
        base_scores[: len(base)] = base.scores
        rows = np.fromiter(map(self.rows.get, ids, repeat(-1)), dtype=np.intp, count=len(ids))
        scores = (1.0 - weight) * min_max(base_scores) + weight * min_max(self.scores[rows])
        return top_ranking(ids, scores.astype(np.float32), k)
