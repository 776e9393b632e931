"""The rule by which live rewards roll a policy back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.composition import RewardComposition
from rl_rewriter.rewards.feedback import Expiry
from rl_rewriter.rollout.bounds import AlwaysValid
from rl_rewriter.rollout.comparison import Comparison

Ruling = Literal["worse", "not_shown", "waiting", "go_on"]
"""What a look finds: surely worse; not shown to be good enough in time; too few sessions yet; no
reason to act. The first two roll back."""


@dataclass(frozen=True, kw_only=True)
class RollBackConfig:
    """When a policy on trial is rolled back.

    "Worse": the upper bound of its gain over the baseline lies below ``-tolerance``. A policy that
    is no worse is rolled back by this with probability ``alpha`` at most, however often and however
    long one looks (of many sessions: ``benchmarks/roll_back_rates.py`` measures it).

    "Not shown", where ``horizon`` is given: after that many sessions of the candidate, the lower
    bound of its gain still lies below ``-max_loss``, so that a loss of that size can't be excluded.
    A good policy is rolled back by this, too, where the horizon is too short to show it.

    Attributes:
        alpha: Chance to roll back a policy that is as good as its baseline, over all looks.
        tolerance: Loss that is put up with, in units of the reward.
        min_sessions: Sessions with a reward that each side needs before anything is ruled.
        horizon: Sessions of the candidate after which it must be shown to be good enough; None
            never asks that.
        max_loss: Loss that must be excluded by then.
        tightest_at: Number of sessions, of both sides, at which bounds are tightest.
        session_seconds: How long a session lasts; what comes later in it doesn't count.
        expiry: How long feedback is waited for (``after``), and what a decision without is worth
            (``default``; None leaves it out).
        composition: How feedback becomes a reward.
    """

    alpha: float = 0.05
    tolerance: float = 0.0
    min_sessions: int = 100
    horizon: int | None = None
    max_loss: float | None = None
    tightest_at: int = 1_000
    session_seconds: float = 1_800.0
    expiry: Expiry = field(default_factory=lambda: Expiry(after=3_600.0, mature_only=True))
    composition: RewardComposition = field(default_factory=RewardComposition)

    def __post_init__(self) -> None:
        """Refuse what no rule can be made of."""
        self.bounds  # noqa: B018  # checks alpha and tightest_at
        if not 0.0 <= self.tolerance < math.inf:
            raise InputError(f"tolerance must be a number of at least 0, got {self.tolerance}")
        if self.min_sessions < 2:
            raise InputError(f"min_sessions must be at least 2, got {self.min_sessions}")
        if (self.horizon is None) != (self.max_loss is None):
            raise InputError("horizon and max_loss go together: give both or none")
        if self.horizon is not None and self.horizon < self.min_sessions:
            raise InputError(
                f"horizon must be at least min_sessions ({self.min_sessions}), got {self.horizon}"
            )
        if self.max_loss is not None and not self.tolerance <= self.max_loss < math.inf:
            raise InputError(f"max_loss must be at least the tolerance, got {self.max_loss}")
        if not 0.0 <= self.session_seconds < math.inf:
            raise InputError(f"session_seconds must be at least 0, got {self.session_seconds}")
        if self.expiry.after is None:
            raise InputError("expiry needs after=SECONDS: how long is feedback waited for?")

    @property
    def bounds(self) -> AlwaysValid:
        """The bounds that rulings are made by."""
        return AlwaysValid(self.alpha, self.tightest_at)

    @property
    def wait_seconds(self) -> float:
        """Age at which a session counts."""
        return self.session_seconds + (self.expiry.after or 0.0)


@dataclass(frozen=True)
class Evidence:
    """What both sides earned so far, and what follows.

    Attributes:
        ruling: What follows.
        reason: It in words.
        sessions: Sessions with a reward: of the candidate, of the baseline.
        rewards: Their means; None where there is none.
        gain: Mean reward of the candidate less the baseline's; None below ``min_sessions``.
        interval: Between what it lies, each end with its own ``alpha`` over all looks.
    """

    ruling: Ruling
    reason: str
    sessions: tuple[int, int]
    rewards: tuple[float | None, float | None]
    gain: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def rolls_back(self) -> bool:
        """Whether the policy is to be rolled back."""
        return self.ruling in ("worse", "not_shown")

    def to_json(self) -> dict[str, Any]:
        """All fields, those of both sides by name."""
        candidate, baseline = self.sessions
        return {
            "ruling": self.ruling,
            "reason": self.reason,
            "sessions": {"candidate": candidate, "baseline": baseline},
            "rewards": dict(zip(("candidate", "baseline"), self.rewards, strict=True)),
            "gain": self.gain,
            "interval": None if self.interval is None else list(self.interval),
        }


def judge(seen: Comparison, config: RollBackConfig) -> Evidence:
    """Apply the rule to what has been seen so far."""
    sides = (seen.candidate, seen.baseline)
    sessions = (seen.candidate.n, seen.baseline.n)
    means = (
        seen.candidate.mean if seen.candidate.n else None,
        seen.baseline.mean if seen.baseline.n else None,
    )
    if min(side.n for side in sides) < config.min_sessions:
        reason = (
            f"too few sessions with a reward: {sessions[0]} of the candidate and {sessions[1]} of "
            f"the baseline, {config.min_sessions} of each are needed"
        )
        return Evidence("waiting", reason, sessions, means)
    gain = seen.gain(config.bounds)
    ruling, reason = _ruling(gain.lower, gain.upper, sessions[0], config)
    reason = f"{reason}; so far {gain.value:+.4f} from {sessions[0]} and {sessions[1]} sessions"
    return Evidence(ruling, reason, sessions, means, gain.value, (gain.lower, gain.upper))


def _ruling(lower: float, upper: float, n: int, config: RollBackConfig) -> tuple[Ruling, str]:
    if upper < -config.tolerance:
        beyond = f" by more than {config.tolerance:g}" if config.tolerance else ""
        return "worse", f"worse than the baseline{beyond}: the gain is at most {upper:+.4f}"
    is_due = config.horizon is not None and n >= config.horizon
    if is_due and config.max_loss is not None and lower < -config.max_loss:
        return "not_shown", (
            f"a loss of {config.max_loss:g} isn't excluded after {config.horizon} sessions of the "
            f"candidate: the gain is at least {lower:+.4f}"
        )
    return "go_on", f"nothing speaks for a roll-back: the gain is at most {upper:+.4f}"
