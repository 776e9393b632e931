"""The answer of the gate, as a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rl_rewriter.evaluation.off_policy.intervals import Interval
from rl_rewriter.evaluation.off_policy.report import finite_or_none


@dataclass(frozen=True)
class Verdict:
    """Whether to deploy, and why.

    Attributes:
        promote: Yes or no.
        delta: Estimated gain over the baseline; None where it can't be estimated.
        ci95: Its two-sided interval.
        baseline: What the gain is over.
        estimator: How it was estimated.
        reason: One sentence.
        records_needed: How many more records like these would let the gate see a gain of the
            estimated size in four of five cases; 0 where it sees it already, None where more of
            them wouldn't help.
        p_value: One-sided, corrected over all candidates that were judged together.
    """

    promote: bool
    delta: float | None
    ci95: Interval | None
    baseline: str
    estimator: str
    reason: str
    records_needed: int | None
    p_value: float

    def to_json(self) -> dict[str, Any]:
        """The object that ``gate --json`` prints."""
        return {
            "schema": 1,
            "promote": self.promote,
            "delta": self.delta,
            "ci95": [finite_or_none(end) for end in self.ci95] if self.ci95 else [None, None],
            "baseline": self.baseline,
            "estimator": self.estimator,
            "reason": self.reason,
            "records_needed": self.records_needed,
            "p_value": self.p_value,
        }
