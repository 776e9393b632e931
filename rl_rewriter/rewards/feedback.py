"""What each kind of feedback is worth, from 0 (bad) to 1 (good)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError

Values = npt.NDArray[np.float64]
Rule = Literal["last", "mean", "max"]
SATISFIED_SECONDS = 30.0
"""A click with this dwell time is taken for a satisfied one (Fox et al. 2005)."""


@dataclass(frozen=True, kw_only=True)
class FeedbackKind:
    """The scale of one kind of feedback, and what several of them for one decision make.

    Attributes:
        low: Raw value that is worth 0.
        high: Raw value that is worth 1; values outside ``[low, high]`` are refused. With an
            infinite range the raw value itself is the worth.
        sigma: Instead of ``high``, for quantities that satiate such as seconds of reading: ``s`` is
            worth ``1 - exp(-(s - low)^2 / (2 sigma^2))``, an upturned Gaussian, so that a glance
            counts for almost nothing.
        rule: Of several: the "last" one, their "mean" or "max".
        by_position: A value about the document at rank ``r`` (from 0) weighs ``1 / log2(r + 2)``,
            nDCG's discount: under "max" it is multiplied, under "mean" the mean is a weighted one.
        from_zero: Where none of all values of a log is negative, ``low`` is 0: some write a bad
            outcome as -1 and some as 0, and which of them only the whole log tells.
    """

    low: float = 0.0
    high: float = 1.0
    sigma: float | None = None
    rule: Rule = "last"
    by_position: bool = False
    from_zero: bool = False

    def __post_init__(self) -> None:
        """Refuse empty scales and rules that mean nothing."""
        if not self.low < self.high:
            raise InputError(f"low must be below high, got {self.low} and {self.high}")
        if math.isinf(self.low) != math.isinf(self.high):
            raise InputError(f"low and high must both be finite, got {self.low} and {self.high}")
        if self.sigma is not None and not 0.0 < self.sigma < math.inf:
            raise InputError(f"sigma must be a positive number, got {self.sigma}")
        if self.rule not in ("last", "mean", "max"):
            raise InputError(f'rule must be "last", "mean" or "max", got {self.rule!r}')
        if self.by_position and self.rule == "last":
            raise InputError('by_position needs the rule "mean" or "max"')

    def among(self, raw: Values) -> FeedbackKind:
        """The scale that holds beside all values of this kind in a log, ``(f,)``."""
        if self.from_zero and not (raw < 0.0).any():
            return replace(self, low=0.0, from_zero=False)
        return self

    def is_on_scale(self, raw: float) -> bool:
        """Whether one value is worth something."""
        if self.sigma is not None:
            return raw >= self.low
        if math.isinf(self.high):
            return math.isfinite(raw)
        return self.low <= raw <= self.high

    def worth(self, raw: Values) -> Values:
        """Worth of raw values, same shape; NaN where one is off the scale."""
        if self.sigma is not None:
            above = np.where(raw >= self.low, raw - self.low, np.nan)
            with np.errstate(over="ignore"):
                return np.asarray(-np.expm1(-0.5 * (above / self.sigma) ** 2))
        if math.isinf(self.high):
            return np.where(np.isfinite(raw), raw, np.nan)
        on_scale = (raw >= self.low) & (raw <= self.high)
        return np.where(on_scale, (raw - self.low) / (self.high - self.low), np.nan)


KINDS: Mapping[str, FeedbackKind] = MappingProxyType(
    {
        "click": FeedbackKind(rule="max", by_position=True),
        "dwell_seconds": FeedbackKind(
            sigma=SATISFIED_SECONDS / math.sqrt(2.0 * math.log(2.0)), rule="max"
        ),
        "copy": FeedbackKind(rule="max"),
        "thumb": FeedbackKind(low=-1.0, from_zero=True),
        "rating": FeedbackKind(low=1.0, high=5.0),
        "answer_grade": FeedbackKind(rule="mean"),
        "resolved": FeedbackKind(),
        "relevance": FeedbackKind(rule="mean", by_position=True),
        "judge": FeedbackKind(rule="mean"),
        "reward": FeedbackKind(low=-math.inf, high=math.inf),
    }
)
"""Kinds with a scale of their own:

- click: 0 or 1, for a document or the whole list; dwell_seconds: 30 seconds are worth one half;
  copy: 0 or 1.
- thumb: -1 (down), 0 (neither) or 1 (up); 0 (down) or 1 (up) in a log that holds no negative one.
- rating: 1 to 5; answer_grade: 0 to 1; resolved: 0 or 1.
- relevance: grade of one returned document, 0 to 1; judge: what a judge hook says, 0 to 1.
- reward: any number, taken as it is.

Names of metrics ("ndcg@10", "hits@3") have the metric's range ("dcg@10" any); any other kind is
taken on a scale from 0 to 1, the last one standing.
"""

_METRIC = re.compile(r"(hits|[a-z]+)@([1-9]\d{0,5})")
_OTHER = FeedbackKind()


def kind_named(name: str, own: Mapping[str, FeedbackKind] | None = None) -> FeedbackKind:
    """The scale of a kind: one's own, a built-in one, a metric's range, else 0 to 1.

    Args:
        name: The kind.
        own: Scales that come before the built-in ones.
    """
    found = (own or {}).get(name) or KINDS.get(name)
    if found is not None:
        return found
    metric = _METRIC.fullmatch(name)
    if metric and metric.group(1) == "hits":
        return FeedbackKind(high=float(metric.group(2)))
    return KINDS["reward"] if metric and metric.group(1) == "dcg" else _OTHER


@dataclass(frozen=True, kw_only=True)
class Expiry:
    """What becomes of decisions for which no feedback has come.

    Attributes:
        after: Seconds to wait; a younger decision without feedback is pending. None doesn't wait.
        default: Reward of those for which nothing came in that time; None leaves them out.
        mature_only: Leave younger decisions out even where feedback has come. Good news travels
            fast: of the latest decisions only those with quick feedback would be seen, and their
            mean reward would be too high wherever ``default`` differs from it.
    """

    after: float | None = None
    default: float | None = None
    mature_only: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no time and no reward."""
        if self.after is not None and not 0.0 <= self.after < math.inf:
            raise InputError(f"after must be a number of seconds, got {self.after}")
        if self.default is not None and not math.isfinite(self.default):
            raise InputError(f"the default reward must be a finite number, got {self.default}")
        if self.mature_only and self.after is None:
            raise InputError("mature_only needs after=SECONDS: when is a decision mature?")

    def is_young(self, times: Values, now: float) -> npt.NDArray[np.bool_]:
        """Which decisions are still waited for, ``(n,)``; those made exactly ``after`` ago aren't.

        Args:
            times: When they were made, in seconds since the epoch, ``(n,)``.
            now: The same clock's present.
        """
        if self.after is None:
            return np.zeros(len(times), dtype=bool)
        return np.asarray(now - times < self.after)
