"""Features of what the unchanged query retrieves (post-retrieval predictors)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.text.tokens import index_terms
from rl_rewriter.types import Evidence, Matrix, Needs, Ranking


@dataclass(frozen=True)
class FirstRanking:
    """Top score, gaps and spread of the first ranking (in the spirit of NQC, Shtok et al. 2012)."""

    columns: tuple[str, ...] = (
        "first_top",
        "first_gap_2",
        "first_gap_3",
        "first_gap_10",
        "first_spread",
        "first_is_empty",
    )
    needs: Needs = Needs.FIRST_RANKING

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """One row a query, shape ``(n, 6)``."""
        return np.asarray([_shape(item.first) for item in evidence], dtype=np.float32).reshape(
            len(evidence), len(self.columns)
        )


@dataclass(frozen=True)
class LexicalAgreement:
    """Shape of the BM25 ranking and how far it agrees with the first ranking."""

    columns: tuple[str, ...] = (
        "agree_1",
        "agree_3",
        "agree_10",
        "bm25_top_share",
        "bm25_gap_2",
        "bm25_gap_10",
        "bm25_is_empty",
    )
    needs: Needs = Needs.FIRST_RANKING | Needs.LEXICAL

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """One row a query, shape ``(n, 7)``."""
        return np.asarray([_agreement(item) for item in evidence], dtype=np.float32).reshape(
            len(evidence), len(self.columns)
        )


def _shape(ranking: Ranking | None) -> list[float]:
    if ranking is None or not len(ranking):
        return [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    scores = ranking.scores.tolist()[:10]
    top = scores[0]
    mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    return [top, *(top - _at(scores, rank) for rank in (1, 2, 9)), spread, 0.0]


def _agreement(evidence: Evidence) -> list[float]:
    first, lexical = evidence.first, evidence.lexical
    if first is None or lexical is None or not len(lexical):
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    overlaps = [
        len(set(first.ids[:depth]) & set(lexical.ids[:depth])) / depth for depth in (1, 3, 10)
    ]
    scores = lexical.scores.tolist()[:10]
    top = scores[0]
    attainable = sum(map(evidence.statistics.idf, index_terms(evidence.query.text)))
    return [
        *overlaps,
        top / max(attainable, 1e-6),
        (top - _at(scores, 1)) / max(top, 1e-6),
        (top - _at(scores, 9)) / max(top, 1e-6),
        0.0,
    ]


def _at(scores: list[float], rank: int) -> float:
    return scores[min(rank, len(scores) - 1)]
