"""From arrays of scores to rankings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.types import Ranking, Vector


def top_ranking(ids: Sequence[str], scores: Vector, k: int, *, above: float = -np.inf) -> Ranking:
    """The ``k`` highest of ``scores`` ``(n,)``, ties by descending id.

    That is how trec_eval orders ties, so that a run file of these scores is worth there what it is
    worth here.

    Args:
        ids: Document ids, ``n`` of them.
        scores: One score a document.
        k: Documents wanted.
        above: Only documents that score higher than this.
    """
    candidates = np.flatnonzero(scores > above)
    if k < len(candidates):
        chosen = scores[candidates]
        threshold = np.partition(chosen, len(chosen) - k)[len(chosen) - k]
        candidates = candidates[chosen >= threshold]
    best = candidates[np.argsort(-scores[candidates], kind="stable")]
    if (np.diff(scores[best]) == 0).any():
        by_id = np.asarray(sorted(best.tolist(), key=ids.__getitem__, reverse=True))
        best = by_id[np.argsort(-scores[by_id], kind="stable")]
    best = best[:k]
    return Ranking(tuple(ids[row] for row in best), scores[best].astype(np.float32))


def min_max(scores: Vector) -> Vector:
    """Scores mapped linearly onto [0, 1]; all ones where they do not differ."""
    if len(scores) == 0:
        return scores
    low, high = scores.min(), scores.max()
    if high <= low:
        return np.ones_like(scores)
    normalised: Vector = (scores - low) / (high - low)
    return normalised
