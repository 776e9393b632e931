"""What estimators say of a policy, as records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rl_rewriter.evaluation.off_policy.diagnostics import Overlap
from rl_rewriter.evaluation.off_policy.intervals import Interval


@dataclass(frozen=True)
class Estimate:
    """What one estimator says.

    Attributes:
        value: The estimate.
        ci95: Its interval; infinite where a single record carries all the weight.
        ess: Effective sample size of the weights that it gives.
        max_weight: Largest weight that it gives.
    """

    value: float
    ci95: Interval
    ess: float
    max_weight: float

    def to_json(self) -> dict[str, Any]:
        """The object that ``ope --json`` holds under the estimator's name."""
        return {
            "value": self.value,
            "ci95": [finite_or_none(end) for end in self.ci95],
            "ess": self.ess,
            "max_weight": self.max_weight,
        }


@dataclass(frozen=True)
class OffPolicyReport:
    """What a log says about a policy.

    Attributes:
        n: Records.
        n_usable: Those with a propensity, from which importance-weighted estimates are made.
        logged_value: What was earned on the usable records, or on all where none is usable.
        estimates: Estimator -> what it says.
        overlap: How much of what the policy would do is in the log; None where no record has a
            propensity.
        warnings: What should be known before believing an estimate, in sentences.
    """

    n: int
    n_usable: int
    logged_value: float
    estimates: Mapping[str, Estimate]
    overlap: Overlap | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``ope --json`` prints."""
        return {
            "schema": 1,
            "n": self.n,
            "n_usable": self.n_usable,
            "logged_value": self.logged_value,
            "estimates": {name: found.to_json() for name, found in self.estimates.items()},
            "warnings": list(self.warnings),
        }


def finite_or_none(value: float) -> float | None:
    """JSON knows no infinity."""
    return value if math.isfinite(value) else None
