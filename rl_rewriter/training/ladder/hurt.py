"""Which queries fall below keep, and whether few enough do."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rl_rewriter.policies.protocols import Values

Flags = npt.NDArray[np.bool_]
Share = TypeVar("Share", float, Values)
ROUNDING = 1e-9
"""Differences up to this are none: sums in another order."""


def is_hurt(values: Values, keep: Values) -> Flags:
    """Where a metric is below keep's, ``(n,)``; what rounding makes of equal rankings is not."""
    return np.asarray(values < keep - ROUNDING)


def hurt_share(values: Values, keep: Values) -> float:
    """Share of queries below keep."""
    return float(is_hurt(values, keep).mean())


def likely(hurt: Share, n_groups: int) -> Share:
    """A share of queries and a standard error: what others' share is likely to stay below.

    The upper end of Wilson's interval (1927) at one standard error, which is above 0 at 0.

    Args:
        hurt: The share, or several.
        n_groups: Groups that it comes from.
    """
    half = 0.5 / n_groups
    error = (hurt * (1.0 - hurt) / n_groups + half * half) ** 0.5
    found: Share = (hurt + half + error) / (1.0 + 2.0 * half)
    return found


def holds(hurt: float, n_groups: int, limit: float | None) -> bool:
    """Whether a share of queries below keep is within the limit, a standard error included."""
    return limit is None or likely(hurt, n_groups) <= limit
