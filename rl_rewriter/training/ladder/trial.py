"""What rungs of the ladder are worth on queries that they weren't fitted on."""

from __future__ import annotations

from dataclasses import dataclass, field

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.ladder.climb import Rung
from rl_rewriter.training.ladder.hurt import hurt_share


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

    def add(self, rung: Rung, values: Values, price: float = 0.0) -> None:
        """A rung with its values, ``(n,)``, from which its price is still to be taken."""
        self.values[rung] = values - price
        self.hurt[rung] = hurt_share(values, self.values["keep"])
