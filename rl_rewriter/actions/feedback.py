"""Pseudo-relevance feedback: let the first documents speak, as terms or as a vector."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rl_rewriter.actions.base import blend_needs, strength_suffix
from rl_rewriter.errors import InputError
from rl_rewriter.text.tokens import index_terms
from rl_rewriter.types import FEEDBACK_DOCUMENTS, Evidence, Needs, Rewrite


@dataclass(frozen=True)
class ExpandWithTerms:
    """Appends the most telling terms of the first documents (the text form of RM3).

    A term's weight is the number of feedback documents that contain it times its IDF.

    Attributes:
        n_documents: Documents read.
        n_terms: Terms appended.
        strength: How far toward the expanded query.
    """

    n_documents: int = 3
    n_terms: int = 5
    strength: float = 1.0

    @property
    def name(self) -> str:
        """``expand_<documents>x<terms>`` with the strength where it is partial."""
        return f"expand_{self.n_documents}x{self.n_terms}{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """Texts of the first documents."""
        return Needs.FIRST_RANKING | Needs.FIRST_TEXTS | blend_needs(self.strength)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The query followed by the terms; None where the first documents have none to add."""
        texts = (evidence.first.texts or ()) if evidence.first is not None else ()
        query = evidence.query
        present = set(index_terms(query.text))
        counts: Counter[str] = Counter()
        for text in texts[: self.n_documents]:
            counts.update(set(index_terms(text)) - present)
        if not counts:
            return None
        idf = evidence.statistics.idf
        ranked = sorted(counts, key=lambda term: (-counts[term] * idf(term), term))
        expanded = " ".join([query.text, *ranked[: self.n_terms]])
        return Rewrite.blend(query, expanded, self.strength)


@dataclass(frozen=True)
class MoveTowardDocuments:
    """Moves the query vector toward the mean of the first documents (Rocchio, 1971, beta only).

    ``(1 - strength) q + strength mean(d_1 .. d_n)``, over the dense or the BM25 ranking.

    Attributes:
        ranking: Whose documents: of the "dense" or of the "bm25" ranking.
        n_documents: Documents averaged, 3 at most.
        strength: How far toward their mean.

    Raises:
        InputError: ``n_documents`` isn't 1 to 3.
    """

    ranking: Literal["dense", "bm25"]
    n_documents: int
    strength: float

    def __post_init__(self) -> None:
        """Refuse to average documents whose vectors are never gathered."""
        if not 1 <= self.n_documents <= FEEDBACK_DOCUMENTS:
            raise InputError(
                f"n_documents must lie in 1 to {FEEDBACK_DOCUMENTS}, got {self.n_documents}"
            )

    @property
    def name(self) -> str:
        """``move_<ranking>_<documents>@<strength>``."""
        return f"move_{self.ranking}_{self.n_documents}{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A search by vector and the vectors of the feedback documents."""
        if self.ranking == "dense":
            return Needs.VECTOR | Needs.FIRST_RANKING | Needs.FIRST_VECTORS
        return Needs.VECTOR | Needs.LEXICAL | Needs.LEXICAL_VECTORS

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The moved vector; None where the ranking is empty."""
        ranking = evidence.first if self.ranking == "dense" else evidence.lexical
        if evidence.vector is None or ranking is None or ranking.vectors is None:
            return None
        vectors = ranking.vectors[: self.n_documents]
        if not len(vectors):
            return None
        moved = (1.0 - self.strength) * evidence.vector + self.strength * vectors.mean(axis=0)
        return Rewrite(texts=(evidence.query.text,), vector=moved.astype(np.float32))


@dataclass(frozen=True)
class FuseWithBm25:
    """Fuses the ranking with BM25's at a weight.

    Attributes:
        strength: BM25's share of the fused score.
    """

    strength: float

    @property
    def name(self) -> str:
        """``fuse_bm25@<strength>``."""
        return f"fuse_bm25{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A BM25 index over the same documents."""
        return Needs.LEXICAL

    def rewrite(self, evidence: Evidence) -> Rewrite:
        """The query as it is, searched in both."""
        query = evidence.query
        return Rewrite(texts=(query.text,), vector=evidence.vector, lexical_weight=self.strength)
