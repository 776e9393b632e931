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
    t_test,
)

_SAME = 1e-9


@dataclass(frozen=True)
class Comparison:
    """A paired difference with its uncertainty.

    Attributes:
        delta: Mean difference.
        p_value: Of a paired randomisation test.
        p_t: Of a paired t-test.
        p_holm: ``p_value`` corrected over the comparisons made together.
        ci95: Bootstrap interval of the mean difference.
        hurt_share: Queries on which the system is below the baseline.
        helped_share: Queries on which it is above.
        worst_decile: Mean of the lowest tenth of the differences, of one query at least.
    """

    delta: float
    p_value: float
    p_t: float
    p_holm: float
    ci95: tuple[float, float]
    hurt_share: float
    helped_share: float
    worst_decile: float

    def to_json(self) -> dict[str, object]:
        """The object that ``results.json`` holds under "tests"."""
        return {
            "delta": self.delta,
            "p_value": self.p_value,
            "p_t": self.p_t,
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

    Raises:
        InputError: There are no queries, or a value isn't finite.
        MissingExtraError: scipy isn't installed.
    """
    differences = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    return described(
        differences,
        p_value=randomisation_test(differences, groups=groups, seed=seed),
        ci95=bootstrap_interval(differences, groups=groups, seed=seed),
        groups=groups,
    )


def described(
    differences: Values,
    *,
    p_value: float,
    ci95: tuple[float, float],
    groups: Sequence[str] | None = None,
) -> Comparison:
    """Everything else that a comparison tells of paired differences ``(n,)``.

    Raises:
        InputError: There are no differences, or one isn't finite.
        MissingExtraError: scipy isn't installed.
    """
    n_worst = max(1, len(differences) // 10)
    return Comparison(
        delta=float(differences.mean()),
        p_value=p_value,
        p_t=t_test(differences, groups=groups),
        p_holm=p_value,
        ci95=ci95,
        hurt_share=float((differences < -_SAME).mean()),
        helped_share=float((differences > _SAME).mean()),
        worst_decile=float(np.sort(differences)[:n_worst].mean()),
    )


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with Holm's correction over all of them."""
    p_values = holm([comparison.p_value for comparison in comparisons])
    return [replace(c, p_holm=p) for c, p in zip(comparisons, p_values, strict=True)]
