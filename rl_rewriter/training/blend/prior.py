"""Logits known from elsewhere: where learning starts, and what few queries are shrunk toward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from rl_rewriter.errors import InputError
from rl_rewriter.types import Vector

_UNKNOWN = -1.0


@dataclass(frozen=True, eq=False)
class BlendPrior:
    """What weights were worth elsewhere.

    Attributes:
        views: Names of views.
        logits: One a view, ``(v,)``; only their differences matter.
    """

    views: tuple[str, ...]
    logits: Vector

    def __post_init__(self) -> None:
        """Refuse numbers that don't belong to the views."""
        if self.logits.shape != (len(self.views),) or not np.isfinite(self.logits).all():
            raise InputError(
                f"a prior needs one finite logit for each of its {len(self.views)} views"
            )

    def for_views(self, names: Sequence[str]) -> Vector:
        """Logits ``(v,)`` of the named views; low ones for views that it doesn't know."""
        known = dict(zip(self.views, self.logits.tolist(), strict=True))
        return np.asarray([known.get(name, _UNKNOWN) for name in names], dtype=np.float32)


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
