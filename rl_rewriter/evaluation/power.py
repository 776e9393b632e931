"""How many queries a gain takes to be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rl_rewriter.evaluation.significance import Values, by_group, checked

_LEVEL_Z = 1.959964
"""Two-sided test at 5%."""
_POWER_Z = 0.841621
"""Power of 80%."""


def queries_needed(
    differences: Values, gain: float, *, groups: Sequence[str] | None = None
) -> int | None:
    """Queries that a paired test at 5% needs to see a gain in four of five tries.

    ``n = ((z_.975 + z_.8) sd / gain)^2 + z_.975^2 / 2``, whose second term makes up for the
    estimated spread (Guenther, 1981). Where queries come in groups, ``sd`` is that of the groups'
    sums and ``n`` counts groups, which are taken to be as large as now.

    Args:
        differences: Value of one system minus the other on each query so far, shape ``(n,)``.
        gain: The mean difference to be seen.
        groups: One name a query; every query stands for itself by default.

    Returns:
        The number; None where there is no gain to be seen or no spread to go by.

    Raises:
        InputError: There are no differences, or one isn't finite.
    """
    sums, _ = by_group(checked(differences), groups)
    if gain <= 0 or len(sums) < 2 or sums.std() == 0:
        return None
    queries_a_group = len(differences) / len(sums)
    spread = float(sums.std(ddof=1)) / (gain * queries_a_group)
    n_groups = ((_LEVEL_Z + _POWER_Z) * spread) ** 2 + _LEVEL_Z**2 / 2
    return math.ceil(n_groups * queries_a_group)
