"""One system against another on the same held-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.evaluation.significance import (
    Values,
    bootstrap_interval,
    holm,
    randomisation_test,
)

_SAME = 1e-9


@dataclass(frozen=True)
class Comparison:
    """A paired difference with its uncertainty.

    Attributes:
        delta: Mean difference.
        p_value: Of a paired randomisation test.
        p_holm: The same, corrected over the comparisons made together.
        ci95: Bootstrap interval of the mean difference.
        hurt_share: Queries on which the system is below the baseline.
        helped_share: Queries on which it is above.
    """

    delta: float
    p_value: float
    p_holm: float
    ci95: tuple[float, float]
    hurt_share: float
    helped_share: float

    def to_json(self) -> dict[str, object]:
        """The object that ``results.json`` holds under "tests"."""
        return {
            "delta": self.delta,
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "ci95": list(self.ci95),
        }


def compare(
    system: Values, baseline: Values, *, groups: Sequence[str] | None = None, seed: int = 0
) -> Comparison:
    """Compare per-query values ``(n,)`` of two systems, paired by query.

    Args:
        system: Values of the system.
        baseline: Values of the baseline on the same queries.
        groups: One name a query where queries belong together, such as paraphrases of a need.
        seed: Seed of test and interval.
    """
    differences = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    p_value = randomisation_test(differences, groups=groups, seed=seed)
    return Comparison(
        delta=float(differences.mean()),
        p_value=p_value,
        p_holm=p_value,
        ci95=bootstrap_interval(differences, groups=groups, seed=seed),
        hurt_share=float((differences < -_SAME).mean()),
        helped_share=float((differences > _SAME).mean()),
    )


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with Holm's correction over all of them."""
    p_values = holm([comparison.p_value for comparison in comparisons])
    return [replace(c, p_holm=p) for c, p in zip(comparisons, p_values, strict=True)]
