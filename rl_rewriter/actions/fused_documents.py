"""The first documents of both rankings together: feedback that neither ranking gives alone."""

from __future__ import annotations

import numpy as np

from rl_rewriter.types import Evidence, Matrix, Ranking, Vector

_LOOKED_AT = 10


def fused_vectors(evidence: Evidence, n: int) -> Matrix:
    """Vectors ``(n, d)`` of the best documents by the even mix of both min-max normalised scores.

    Looked at are the first ten of either ranking. Similarities of BM25's documents come from their
    vectors; a document that the BM25 ranking lacks scores what its last one does, or 0 where that
    ranking is no longer than what is looked at.
    """
    first, lexical, query = evidence.first, evidence.lexical, evidence.vector
    if first is None or first.vectors is None or query is None:
        return np.zeros((0, 0), dtype=np.float32)
    vectors = dict(zip(first.ids[:_LOOKED_AT], first.vectors, strict=False))
    if lexical is not None and lexical.vectors is not None:
        for id_, vector in zip(lexical.ids[:_LOOKED_AT], lexical.vectors, strict=False):
            vectors.setdefault(id_, vector)
    if not vectors:
        return np.zeros((0, 0), dtype=np.float32)
    ids = sorted(vectors)
    stacked = np.stack([vectors[id_] for id_ in ids])
    scores = _min_max(stacked @ query) + _min_max(_lexical_scores(ids, lexical))
    best: Matrix = stacked[np.argsort(-scores, kind="stable")[:n]]
    return best


def _lexical_scores(ids: list[str], lexical: Ranking | None) -> Vector:
    if lexical is None or not len(lexical):
        return np.zeros(len(ids), dtype=np.float32)
    known = dict(zip(lexical.ids, lexical.scores.tolist(), strict=True))
    lowest = float(lexical.scores[-1]) if len(lexical) > _LOOKED_AT else 0.0
    return np.asarray([known.get(id_, lowest) for id_ in ids], dtype=np.float32)


def _min_max(scores: Vector) -> Vector:
    lowest, highest = scores.min(), scores.max()
    spread: Vector = (scores - lowest) / max(float(highest - lowest), 1e-9)
    return spread
