"""Features of the conversation: is there one, and does the query go on with it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.text.tokens import index_terms
from rl_rewriter.types import Evidence, Matrix, Needs

_MAX_CHARS = 4000


@dataclass(frozen=True)
class History:
    """Number of turns and IDF-weighted term overlap of the query with earlier turns.

    Overlap is measured on terms: an embedding of every earlier turn would cost more than the
    search itself.
    """

    columns: tuple[str, ...] = (
        "has_history",
        "log_turns",
        "overlap_last_user",
        "overlap_last_answer",
        "overlap_all",
        "topic_continues",
    )
    needs: Needs = Needs.NOTHING

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """One row a query, shape ``(n, 6)``; zeros where there is no history."""
        return np.asarray([_describe(item) for item in evidence], dtype=np.float32).reshape(
            len(evidence), len(self.columns)
        )


def _describe(evidence: Evidence) -> list[float]:
    history = evidence.query.history
    if not history:
        return [0.0] * 6
    statistics = evidence.statistics
    weights = {term: statistics.idf(term) for term in index_terms(evidence.query.text)}
    total = sum(weights.values())

    def overlap(terms: Sequence[str]) -> float:
        there = set(terms)
        return sum(w for term, w in weights.items() if term in there) / total if total else 0.0

    everything = index_terms(" ".join(turn.text for turn in history)[-_MAX_CHARS:])
    last_user = next((t.text for t in reversed(history) if t.role == "user"), "")
    last_answer = next((t.text for t in reversed(history) if t.role == "assistant"), "")
    topic = statistics.topic_of(list(weights))
    continues = topic is not None and topic == statistics.topic_of(everything)
    return [
        1.0,
        math.log1p(len(history)),
        overlap(index_terms(last_user[-_MAX_CHARS:])),
        overlap(index_terms(last_answer[-_MAX_CHARS:])),
        overlap(everything),
        float(continues),
    ]
