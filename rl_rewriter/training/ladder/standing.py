"""What stands at the end of the ladder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.ladder.climb import Rung
from rl_rewriter.training.ladder.hurt import Flags
from rl_rewriter.training.ladder.report import LadderReport


@dataclass(frozen=True, eq=False)
class Standing:
    """What is to be served, and what was tried on the way.

    Attributes:
        rung: What to serve: "keep", the best "single" action, or a blend.
        single: Number of the single action that is best on all queries; None where none was given.
        cross_fitted: Values of every rung that was tried, ``(n,)`` each, every query valued by a
            fit that hasn't seen its group; a blend is valued at full strength, without a gate.
        served: The same of what is to be served, however held back, its price paid, ``(n,)``.
        is_open: Where that is something else than keep, ``(n,)``.
        report: How rungs compare.
    """

    rung: Rung
    single: int | None
    cross_fitted: Mapping[Rung, Values]
    served: Values
    is_open: Flags
    report: LadderReport

    @property
    def is_blend(self) -> bool:
        """Whether a blend is to be served."""
        return self.rung not in ("keep", "single")
