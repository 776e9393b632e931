"""Several signals about one decision, made into one reward with the parts kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.feedback import FeedbackKind, Values, kind_named

SESSION_WEIGHTS: Mapping[str, float] = {"click": 0.6, "dwell_seconds": 0.3, "diversity": 0.05}
"""Search sessions: mostly whether something was clicked, then how long it was read."""


@dataclass(frozen=True, kw_only=True)
class RewardComposition:
    """How feedback becomes a reward: ``sum_k w_k part_k - cost_weight * cost``.

    Attributes:
        weights: Weight of each kind; kinds that it doesn't name don't count. None: every kind
            counts alike.
        absent: What a kind that a decision has no feedback of does. "left_out": the weights of the
            kinds that came are scaled to sum to 1, which suits explicit feedback (no thumb isn't a
            thumb down). "zero": it counts as 0, which suits implicit signals (no click is one).
        cost_weight: Weight of the decision's logged cost, which is in units of the metric already.
        kinds: Scales of one's own, before the built-in ones.
    """

    weights: Mapping[str, float] | None = None
    absent: Literal["left_out", "zero"] = "left_out"
    cost_weight: float = 1.0
    kinds: Mapping[str, FeedbackKind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse weights with which no reward can be made."""
        if self.absent not in ("left_out", "zero"):
            raise InputError(f'absent must be "left_out" or "zero", got {self.absent!r}')
        if not math.isfinite(self.cost_weight):
            raise InputError(f"cost_weight must be a finite number, got {self.cost_weight}")
        weights = (1.0,) if self.weights is None else tuple(self.weights.values())
        if not all(map(math.isfinite, weights)) or not any(weights):
            raise InputError(f"weights must be finite and not all 0, got {self.weights}")
        if self.absent == "left_out" and min(weights) < 0:
            raise InputError(f'negative weights need absent="zero", got {self.weights}')

    @classmethod
    def of_sessions(cls) -> RewardComposition:
        """``.6 click + .3 dwell + .05 diversity - .05 cost``, what didn't come counting as 0."""
        return cls(weights=SESSION_WEIGHTS, absent="zero", cost_weight=0.05)

    def weight(self, kind: str) -> float:
        """Weight of a kind; 0 where it doesn't count."""
        return 1.0 if self.weights is None else self.weights.get(kind, 0.0)


@dataclass(frozen=True, eq=False)
class FeedbackColumns:
    """``f`` outcomes for ``n`` decisions, in order of arrival.

    Attributes:
        rows: Which decision each belongs to, ``(f,)``.
        kinds: Position of each one's kind in ``names``, ``(f,)``.
        values: Raw values, ``(f,)``.
        times: Seconds since the epoch, ``(f,)``.
        positions: Rank of the document each is about, from 0; -1 for the whole list, ``(f,)``.
        names: Names of the kinds.
    """

    rows: npt.NDArray[np.intp]
    kinds: npt.NDArray[np.intp]
    values: Values
    times: Values
    positions: npt.NDArray[np.intp]
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Composed:
    """Rewards of ``n`` decisions.

    Attributes:
        rewards: Shape ``(n,)``; NaN where no feedback that counts has come, infinite where the sum
            is beyond the range of numbers.
        parts: Kind -> worth before weighting, ``(n,)``, NaN where none came; "cost" last.
        refused: Kind -> how many values were off its scale.
        lost: Decisions whose every value that would count was off its scale, ``(n,)``.
    """

    rewards: Values
    parts: Mapping[str, Values]
    refused: Mapping[str, int]
    lost: npt.NDArray[np.bool_]


def compose(feedback: FeedbackColumns, costs: Values, composition: RewardComposition) -> Composed:
    """Make one reward a decision.

    Args:
        feedback: Everything that came.
        costs: Logged cost of each decision, ``(n,)``.
        composition: Scales and weights.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _compose(feedback, costs, composition)


def _compose(feedback: FeedbackColumns, costs: Values, composition: RewardComposition) -> Composed:
    n = len(costs)
    parts: dict[str, Values] = {}
    refused: dict[str, int] = {}
    total, weight_sum, came = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
    lost = np.zeros(n, dtype=bool)
    for number, name in enumerate(feedback.names):
        weight = composition.weight(name)
        if not weight:
            continue
        part, off_scale = _part(feedback, number, kind_named(name, composition.kinds), n)
        if len(off_scale):
            refused[name], lost[off_scale] = len(off_scale), True
        here = np.isfinite(part)
        total[here] += weight * part[here]
        weight_sum[here] += weight
        came |= here
        parts[name] = part
    if composition.absent == "left_out":
        total /= np.where(came, weight_sum, 1.0)
    parts["cost"] = costs
    rewards = np.where(came, total - composition.cost_weight * costs, np.nan)
    return Composed(rewards, parts, refused, lost & ~came)


def _part(
    feedback: FeedbackColumns, number: int, kind: FeedbackKind, n: int
) -> tuple[Values, npt.NDArray[np.intp]]:
    """Worth of one kind for each decision, ``(n,)``, NaN where none came; rows of the refused."""
    chosen = np.flatnonzero(feedback.kinds == number)
    raw = feedback.values[chosen]
    worth = kind.among(raw).worth(raw)
    usable = np.isfinite(worth)
    off_scale = feedback.rows[chosen[~usable]]
    chosen, worth = chosen[usable], worth[usable]
    rows = feedback.rows[chosen]
    discounts = np.ones(len(chosen))
    if kind.by_position:
        ranks = np.maximum(feedback.positions[chosen], 0)
        discounts = 1.0 / np.log2(ranks + 2.0)
    part = np.full(n, np.nan)
    if kind.rule == "max":
        np.fmax.at(part, rows, worth * discounts)
    elif kind.rule == "mean":
        sums = np.bincount(rows, worth * discounts, minlength=n)
        weights = np.bincount(rows, discounts, minlength=n)
        part = np.divide(sums, weights, out=part, where=weights > 0)
    else:
        order = np.argsort(feedback.times[chosen], kind="stable")
        part[rows[order]] = worth[order]  # of equal rows the last one stays
    return part, off_scale
