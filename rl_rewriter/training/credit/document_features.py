"""What is known of a candidate before anyone is asked: how the views of its query see it."""

from __future__ import annotations

import numpy as np

from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.types import Matrix

_CHUNK = 200
_HALF_WAY = 10.0


def document_features(pools: Pools) -> Matrix:
    """Features of all candidates, ``(n, p, f)``, 0 where there is none.

    With ``e = 1 / (1 + rank / 10)^2`` of every view: each ``e``, each ``1 / (1 + rank)``, the mean
    ``m`` of ``e`` over the views, ``m^2``, and the least ``e``. All of them vanish beyond the first
    ranks, so that a document which no view puts there has next to none.
    """
    n, p, v = pools.scores.shape
    found = np.zeros((n, p, 2 * v + 3), dtype=np.float32)
    for start in range(0, n, _CHUNK):
        part = pools.subset(range(start, min(n, start + _CHUNK)))
        found[start : start + _CHUNK] = _features(part)
    return found


def _features(pools: Pools) -> Matrix:
    there = pools.mask[:, :, None] & pools.present[:, None, :]
    order = np.argsort(-np.where(there, pools.scores, -np.inf), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)
    early = np.where(there, (1.0 + ranks / _HALF_WAY) ** -2.0, 0.0)
    first = np.where(there, 1.0 / (1.0 + ranks), 0.0)
    mean = early.sum(axis=2, keepdims=True) / pools.present.sum(axis=1)[:, None, None]
    seen = np.where(pools.present[:, None, :], early, 1.0)
    least = seen.min(axis=2, keepdims=True) * pools.mask[:, :, None]
    return np.concatenate([early, first, mean, mean**2, least], axis=2)
