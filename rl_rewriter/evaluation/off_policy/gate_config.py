"""What a policy has to show before it is deployed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.diagnostics import FEW_EFFECTIVE, MUCH_OUTSIDE

EstimatorName = Literal["auto", "ips", "snips", "dr", "sndr"]


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """Thresholds of the gate.

    Attributes:
        margin: The gain that it has to exceed, in units of the reward.
        level: Confidence of the one-sided lower bound that is compared with the margin; by default
            that of the lower end of a 95% interval.
        estimator: "auto" is "dr", or "snips" below 200 records, without a reward model, or where a
            learned blend is judged by drawn weights, which the reward model doesn't see.
        max_outside_support: Largest share of its decisions that the log can't speak about.
        min_ess: Smallest effective sample size.
        min_records: Fewest independent records.
        max_age_days: Greatest age of the latest record; None for any.
    """

    margin: float = 0.0
    level: float = 0.975
    estimator: EstimatorName = "auto"
    max_outside_support: float = MUCH_OUTSIDE
    min_ess: float = FEW_EFFECTIVE
    min_records: int = 100
    max_age_days: float | None = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        if not math.isfinite(self.margin):
            raise InputError(f"margin must be a finite number, got {self.margin}")
        if not 0.5 < self.level < 1.0:
            raise InputError(f"level must lie between 0.5 and 1, got {self.level}")
        names = get_args(EstimatorName)
        if self.estimator not in names:
            raise InputError(f"estimator must be one of {', '.join(names)}, got {self.estimator!r}")
        if not 0.0 <= self.max_outside_support <= 1.0:
            raise InputError(
                f"max_outside_support must be a share from 0 to 1, got {self.max_outside_support}"
            )
        if not (self.min_ess >= 0 and self.min_records >= 2):
            raise InputError(
                "min_ess must not be negative and min_records at least 2, got "
                f"{self.min_ess} and {self.min_records}"
            )
        if self.max_age_days is not None and not self.max_age_days >= 0:  # false for NaN
            raise InputError(
                f"max_age_days must be a number of days from 0 on, got {self.max_age_days}"
            )
