"""BM25 scores of the last few texts, so that no term is scored twice for one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rl_rewriter.retrieval.term_counts import Mask, TermCounts
from rl_rewriter.types import Vector

N_KEPT = 8
"""Texts whose scores are kept, one a query that is looked at right now: four bytes a document each,
five under a filter."""
_NEGLIGIBLE = 1e-9
"""Weights below it come of rounding."""


@dataclass(frozen=True, eq=False)
class _Kept:
    terms: tuple[tuple[str, float], ...]
    allowed: Mask | None
    scores: Vector

    def is_of(self, terms: tuple[tuple[str, float], ...], allowed: Mask | None) -> bool:
        if self.terms != terms or allowed is None or self.allowed is None:
            return self.terms == terms and allowed is self.allowed
        return np.array_equal(self.allowed, allowed)


class KeptScores:
    """Scores weighted terms, and keeps what it scored of whole texts.

    Scores are kept with the very documents they were made among: neither another filter nor the
    same one after a change of the collection is answered by them. What is kept changes no result,
    not even its last digit.

    Args:
        counts: The collection; scores of another one need a keeper of their own.
    """

    def __init__(self, counts: TermCounts) -> None:
        self._counts = counts
        # Replaced as a whole, so that threads need no lock: two at once may lose an entry.
        self._kept: tuple[_Kept, ...] = ()

    def of_mix(
        self, mix: Mapping[str, float], text: Mapping[str, float], allowed: Mask | None
    ) -> Vector:
        """Scores of a mix: those of a text as far as the mix holds it, and of what it adds.

        Args:
            mix: Weights of terms.
            text: Terms of a text that may have been scored before, each as often as it stands
                there.
            allowed: Among which documents, ``(n,)``; None for all.
        """
        share = min((mix.get(term, 0.0) / count for term, count in text.items()), default=0.0)
        if share <= _NEGLIGIBLE:
            return self._counts.scores(mix, allowed)
        added = {term: weight - share * text.get(term, 0.0) for term, weight in mix.items()}
        added = {term: weight for term, weight in added.items() if weight > _NEGLIGIBLE}
        scores: Vector = share * self._of_text(text, allowed)
        return scores + self._counts.scores(added, allowed) if added else scores

    def _of_text(self, text: Mapping[str, float], allowed: Mask | None) -> Vector:
        terms = tuple(text.items())
        for kept in self._kept:
            if kept.is_of(terms, allowed):
                return kept.scores
        scores = self._counts.scores(text, allowed)
        own = None if allowed is None else allowed.copy()
        self._kept = (_Kept(terms, own, scores), *self._kept[: N_KEPT - 1])
        return scores
