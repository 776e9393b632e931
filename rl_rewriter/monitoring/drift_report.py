"""What is said about drift: a verdict first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rl_rewriter.errors import InputError
from rl_rewriter.monitoring.chi_square import quantile
from rl_rewriter.monitoring.reward_change import RewardChange
from rl_rewriter.monitoring.shifts import Shift

Verdict = Literal["stable", "look", "act", "too few records"]


@dataclass(frozen=True, kw_only=True)
class DriftConfig:
    """When something is called drift: it is no accident, and it is large.

    Attributes:
        level: Chance of a false alarm by all columns of a report together; that of rewards comes to
            it.
        look: Index, less what chance explains, from which a column is worth a look.
        act: From which something should be done. Both are the usual thresholds (Siddiqi, 2006).
        reward_look: Change of the mean reward, in standard deviations, that is worth a look.
        reward_act: Fall of the mean reward, likewise, at which something should be done.
        bins: Most bins of a column of numbers.
        sample: Decisions of each side that are looked at.
        join_window: Newer decisions for which a decision's feedback is waited for.
        seed: Of samples and broken ties.
    """

    level: float = 0.01
    look: float = 0.1
    act: float = 0.25
    reward_look: float = 0.1
    reward_act: float = 0.2
    bins: int = 10
    sample: int = 10_000
    join_window: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings under which nothing or everything is drift."""
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level must lie in (0, 1), got {self.level}")
        if not 0.0 < self.look <= self.act < math.inf:
            raise InputError(f"0 < look <= act must hold, got {self.look} and {self.act}")
        if not 0.0 < self.reward_look <= self.reward_act < math.inf:
            raise InputError(
                "0 < reward_look <= reward_act must hold, got "
                f"{self.reward_look} and {self.reward_act}"
            )
        if self.bins < 2 or self.sample < 100 or self.join_window < 1:
            raise InputError(
                "bins must be at least 2, sample 100 and join_window 1, got "
                f"{self.bins}, {self.sample} and {self.join_window}"
            )


@dataclass(frozen=True)
class Side:
    """One of the two sets of decisions that are compared.

    Attributes:
        what: In words.
        n: Decisions; None for what a policy knows of those that it was trained on.
        times: First and last, in seconds since the epoch; None where there is none.
    """

    what: str
    n: int | None
    times: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {"what": self.what, "n": self.n, "times": list(self.times) if self.times else None}


@dataclass(frozen=True)
class DriftReport:
    """How a stream of decisions and rewards changed.

    Attributes:
        verdict: "act" where what was learned no longer holds, "look" for a smaller change,
            "stable", or "too few records" to tell.
        reason: One sentence.
        reference: What is compared with.
        recent: What is compared.
        needed: Recent decisions that are missing where they are too few, else 0.
        shifts: All columns, the largest shift first.
        alarms: Names of those whose shift is certain and large enough to look.
        reward: The likeliest change of the rewards; None where nothing hints at one.
        n_rewards: Rewards that were looked at, one a conversation.
        notes: What a reader should know.
    """

    verdict: Verdict
    reason: str
    reference: Side
    recent: Side
    needed: int
    shifts: tuple[Shift, ...]
    alarms: tuple[str, ...]
    reward: RewardChange | None
    n_rewards: int
    notes: tuple[str, ...] = ()

    @property
    def first_line(self) -> str:
        """Verdict and reason."""
        return f"{self.verdict}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """The object that ``drift --json`` prints."""
        return {
            "schema": 1,
            "verdict": self.verdict,
            "reason": self.reason,
            "reference": self.reference.to_json(),
            "recent": self.recent.to_json(),
            "needed": self.needed,
            "alarms": list(self.alarms),
            "shifts": [shift.to_json() for shift in self.shifts],
            "reward": self.reward.to_json() if self.reward else None,
            "n_rewards": self.n_rewards,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Evidence:
    """All that a verdict rests on."""

    reference: Side
    recent: Side
    shifts: Sequence[Shift]
    reward: RewardChange | None
    n_rewards: int
    notes: Sequence[str]


def judge(evidence: Evidence, config: DriftConfig) -> DriftReport:
    """The verdict on what was found."""
    certain = [s for s in evidence.shifts if s.p_holm < config.level]
    large = [s for s in certain if s.found.size >= config.look]
    reward = evidence.reward
    size = reward.size if reward is not None and reward.is_certain else 0.0
    needed = _needed(evidence, config)
    fell = size <= -config.reward_act and not _is_over(evidence)
    verdict: Verdict = "stable"
    if fell or (not needed and any(s.found.size >= config.act for s in large)):
        verdict = "act"
    elif needed:
        verdict = "too few records"
    elif large or abs(size) >= config.reward_look:
        verdict = "look"
    alarms = () if needed else tuple(s.name for s in large)
    told = _reward_words(evidence, size, config)
    return DriftReport(
        verdict=verdict,
        reason=_reason(verdict, evidence, needed, [] if needed else large, told),
        reference=evidence.reference,
        recent=evidence.recent,
        needed=needed,
        shifts=tuple(evidence.shifts),
        alarms=alarms,
        reward=reward,
        n_rewards=evidence.n_rewards,
        notes=tuple(evidence.notes),
    )


def _needed(evidence: Evidence, config: DriftConfig) -> int:
    """Recent decisions missing until a shift of size ``act`` could be told from chance; else 0.

    The least index that is certain is ``x (1/n + 1/m)`` with ``x`` the chi-square quantile at the
    first step of Holm's correction.
    """
    n = math.inf if evidence.reference.n is None else evidence.reference.n
    m = evidence.recent.n or 0
    critical = quantile(config.level / max(1, len(evidence.shifts)), config.bins - 1)
    room = config.act / critical
    if n and m and 1.0 / n + 1.0 / m <= room:
        return 0
    if n and 1.0 / n < room / 2.0:  # the reference will do
        return max(1, math.ceil(1.0 / (room - 1.0 / n)) - m)
    both = math.ceil(2.0 / room)
    return max(1, both - int(n)) + max(0, both - m)


def _is_over(evidence: Evidence) -> bool:
    """Whether the change of rewards was clearest before the recent decisions began."""
    reward, times = evidence.reward, evidence.recent.times
    return reward is not None and (times is None or reward.until < times[0])


def _reward_words(evidence: Evidence, size: float, config: DriftConfig) -> str:
    reward = evidence.reward
    if reward is None or abs(size) < config.reward_look:
        return ""
    verb = "fell" if size < 0 else "rose"
    when = ", before the recent ones" if _is_over(evidence) else ""
    return (
        f"the mean reward {verb} from {reward.before:.3f} to {reward.after:.3f} "
        f"({size:+.2f} standard deviations{when})"
    )


def _number(reference: Side) -> str:
    return "" if reference.n is None else f"{reference.n:,} to compare with and "


def _reason(
    verdict: Verdict, evidence: Evidence, needed: int, large: Sequence[Shift], told: str
) -> str:
    if verdict == "too few records":
        return (
            f"about {needed:,} more decisions are needed to tell a shift from chance; there are "
            f"{_number(evidence.reference)}{evidence.recent.n:,} recent ones"
        )
    if verdict == "stable":
        compared = f"{len(evidence.shifts)} columns of {evidence.recent.n:,} recent decisions"
        rewards = f" and {evidence.n_rewards:,} rewards" if evidence.n_rewards else ""
        return f"no shift in {compared}{rewards} that is both certain and large"
    said = [told] if told else []
    if large:
        names = ", ".join(f"{s.name} (PSI {s.found.psi:.2f})" for s in large[:3])
        others = f" and {len(large) - 3} others" if len(large) > 3 else ""
        said.append(f"shifted: {names}{others}")
    return "; ".join(said)
