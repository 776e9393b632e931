"""What rungs of the ladder are worth on queries that they weren't fitted on."""

from __future__ import annotations

from dataclasses import dataclass, field

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.ladder.climb import Rung


@dataclass(frozen=True, eq=False)
class Trial:
    """What was tried, keep first.

    Attributes:
        values: Cross-fitted values by rung, prices paid, ``(n,)`` each.
        hurt: Share of queries below keep by rung, whatever it costs.
        seconds: Wall time by rung.
        messages: What a reader should know.
    """

    values: dict[Rung, Values] = field(default_factory=dict)
    hurt: dict[Rung, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def add(self, rung: Rung, values: Values, hurt: float) -> None:
        """A rung with its values, prices paid, ``(n,)``, and the share of queries that it hurts."""
        self.values[rung] = values
        self.hurt[rung] = hurt
