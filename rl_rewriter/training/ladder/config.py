"""Settings of the ladder; reading them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from rl_rewriter.errors import InputError
from rl_rewriter.training.ranges import at_least, whole


@dataclass(frozen=True, kw_only=True)
class LadderConfig:
    """When something more complex is taken, and how many queries it may hurt.

    A rung is climbed where the mean cross-fitted gain over the rung below is more than this many
    standard errors.

    Attributes:
        folds: Folds of the cross-fitting.
        divisions: Divisions into folds whose mean values the best single action: it costs little to
            find, and which one is found depends on the division.
        single: For the best single action over keep.
        same_for_all: For the same weights for all queries over what is below.
        by_query: For weights by query over what is below, and over the same weights for all.
        hurt_limit: Largest share of queries below keep, by cross-fitting and with a standard error
            to spare: a blend is served only where its predicted advantage over keep is clear
            enough for that, a single action to every query only if it holds as it is, and else to
            those who are expected to gain most. None for no limit.
    """

    folds: int = 5
    divisions: int = 10
    single: float = 0.5
    same_for_all: float = 0.5
    by_query: float = 1.0
    hurt_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        whole(self, 2, "folds")
        whole(self, 1, "divisions")
        at_least(self, 0, "single", "same_for_all", "by_query")
        if self.hurt_limit is not None and not 0 <= self.hurt_limit <= 1:
            raise InputError(f"hurt_limit must lie in [0, 1], got {self.hurt_limit}")
