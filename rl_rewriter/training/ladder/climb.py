"""Complexity is earned: keep, the best single action, weights for all, weights by query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import ROUNDING

Rung = Literal["keep", "single", "same_for_all", "by_query"]
RUNGS: tuple[Rung, ...] = ("keep", "single", "same_for_all", "by_query")


@dataclass(frozen=True)
class Step:
    """One rung compared with the one that stood.

    Attributes:
        rung: The rung.
        over: What stood.
        gain: Mean cross-fitted gain over it.
        standard_error: Of the gain.
        needed: Standard errors that the gain had to be above.
        taken: Whether it was.
    """

    rung: Rung
    over: Rung
    gain: float
    standard_error: float
    needed: float
    taken: bool

    @property
    def in_words(self) -> str:
        """One line for a report."""
        verb = "taken" if self.taken else "not taken"
        told = cleared(self.gain, self.standard_error, self.needed)
        return f"{self.rung.replace('_', ' ')} {verb} over {self.over.replace('_', ' ')}: {told}"


def cleared(gain: float, standard_error: float, needed: float, of: str = "") -> str:
    """How far a gain is from what it has to be above.

    Args:
        gain: Mean gain over what stood.
        standard_error: Of the gain.
        needed: Standard errors that it has to be above.
        of: What it is a gain on, such as " on 40 queries".
    """
    return (
        f"{gain:+.4f}{of} with a standard error of {standard_error:.4f}, "
        f"{needed:g} of which it has to be above"
    )


def climb(
    values: Mapping[Rung, Values], folds: GroupFolds, config: LadderConfig
) -> tuple[Rung, tuple[Step, ...]]:
    """Take each rung whose gain over the one that stands is clear.

    Weights by query have to be clearly better than the weights for all as well, even where these
    don't stand: what is taken for is that they differ by query.

    Args:
        values: Cross-fitted values, one a query, of keep and of the rungs that there are.
        folds: The division that they come from.
        config: How clear is clear.

    Returns:
        The rung that stands at the end, and how each did. No rung stands that isn't above keep.
    """
    stands: Rung = "keep"
    steps: list[Step] = []
    for rung in RUNGS[1:]:
        if rung not in values:
            continue
        step = _compared(rung, stands, values, folds, config)
        if rung == "by_query" and step.taken and stands != "same_for_all":
            step = _compared(rung, "same_for_all", values, folds, config)
        steps.append(step)
        stands = rung if step.taken else stands
    return stands, tuple(steps)


def _compared(
    rung: Rung, over: Rung, values: Mapping[Rung, Values], folds: GroupFolds, config: LadderConfig
) -> Step:
    differences = values[rung] - values[over]
    gain, error = float(differences.mean()), folds.standard_error(differences)
    needed = float(getattr(config, rung))
    over_keep = float((values[rung] - values["keep"]).mean())
    is_clear = gain > max(needed * error, ROUNDING) and over_keep > ROUNDING
    return Step(rung, over, gain, error, needed, is_clear)
