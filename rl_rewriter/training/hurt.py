"""Which queries fall below keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rl_rewriter.policies.protocols import Values

_SAME = 1e-9


def is_hurt(values: Values, keep: Values) -> npt.NDArray[np.bool_]:
    """Where a metric is below keep's, ``(n,)``; what rounding makes of equal rankings is not."""
    return np.asarray(values < keep - _SAME)


def hurt_share(values: Values, keep: Values) -> float:
    """Share of queries below keep."""
    return float(is_hurt(values, keep).mean())
