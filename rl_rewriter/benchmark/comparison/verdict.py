"""The one sentence that a reader should take away from a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVEL = 0.05


def verdict_of(record: Mapping[str, Any]) -> str:
    """The sentence about one collection's object of ``results.json``.

    A difference counts where its interval leaves out 0 and its p-value, corrected over the
    collections of the run, is below 0.05.
    """
    versus_keep = record["tests"]["policy_vs_keep"]
    versus_fixed = record["tests"]["policy_vs_best_fixed"]
    if versus_keep is None or versus_fixed is None:
        return "no policy was trained: actions alone are compared"
    if _direction(versus_keep) < 0:
        return "the policy is worse than leaving queries alone: don't deploy it"
    if _direction(versus_keep) == 0:
        return "no gain: the policy isn't reliably better than leaving queries alone"
    return {
        1: "the policy beats leaving queries alone, and one action for all of them",
        0: "the policy beats leaving queries alone; one action for all does about as well",
        -1: "better than leaving queries alone, but one action for all does better still",
    }[_direction(versus_fixed)]


def _direction(test: Mapping[str, Any]) -> int:
    """1 for a reliable gain, -1 for a reliable loss, 0 where no difference is shown."""
    low, high = test["ci95"]
    if test["p_holm"] >= LEVEL:
        return 0
    return int(low > 0) - int(high < 0)
