"""Holds what few queries teach to logits that are known from elsewhere."""

from __future__ import annotations

from torch import Tensor


def prior_penalty(bias: Tensor, prior: Tensor, queries: float, n: int) -> Tensor:
    """Holds the bias to a prior that counts for so many queries.

    ``(queries / n) |b - prior|^2 / 2`` of what differs beyond a constant: a Gaussian prior of unit
    variance over the logits, a query's loss counting as one observation.

    Args:
        bias: Logits, ``(v,)``.
        prior: Their prior, ``(v,)``.
        queries: What the prior counts for.
        n: Queries that are learned from.
    """
    off = bias - prior
    return 0.5 * queries / n * (off - off.mean()).pow(2).sum()
