"""What is known of a candidate before anyone is asked: how the views of its query see it."""

from __future__ import annotations

import numpy as np

from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.types import Matrix

_CHUNK = 200
_HALF_WAY = 10.0


def document_features(pools: Pools) -> Matrix:
    """Features of all candidates, ``(n, p, f)``, 0 where there is none.

    With ``e = 1 / (1 + rank / 10)^2`` of every view and ``m`` its mean over the views: products
    ``e e'`` of all pairs of views, ``m / (1 + rank)`` for each, ``m^2`` and ``m^3``. All are about
    views that agree, and vanish beyond the first ranks: a document that one view puts first and the
    others don't see must not be credited by those that all of them do.
    """
    n, p, v = pools.scores.shape
    found = np.zeros((n, p, v * (v - 1) // 2 + v + 2), dtype=np.float32)
    for start in range(0, n, _CHUNK):
        part = pools.subset(range(start, min(n, start + _CHUNK)))
        found[start : start + _CHUNK] = _features(part)
    return found


def _features(pools: Pools) -> Matrix:
    there = pools.mask[:, :, None] & pools.present[:, None, :]
    order = np.argsort(-np.where(there, pools.scores, -np.inf), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)
    early = np.where(there, (1.0 + ranks / _HALF_WAY) ** -2.0, 0.0)
    mean = early.sum(axis=2, keepdims=True) / pools.present.sum(axis=1)[:, None, None]
    one, other = np.triu_indices(early.shape[2], 1)
    pairs = early[:, :, one] * early[:, :, other]
    first = np.where(there, mean / (1.0 + ranks), 0.0)
    return np.concatenate([pairs, first, mean**2, mean**3], axis=2)
