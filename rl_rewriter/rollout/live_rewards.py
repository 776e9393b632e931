"""What served sessions earned, each counted once and only when its feedback has had its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rl_rewriter.logs.columns import Ragged
from rl_rewriter.logs.gathered_decisions import GROUP_TAGS
from rl_rewriter.logs.gathered_feedback import NO_ROW, GatheredFeedback
from rl_rewriter.logs.joining import DecisionIndex
from rl_rewriter.rewards.composition import FeedbackColumns, RewardComposition, compose
from rl_rewriter.rewards.feedback import Expiry, Values, kind_named


@dataclass(frozen=True)
class Arm:
    """Whose a decision is.

    Attributes:
        is_candidate: The policy on trial served it, not the baseline.
        share: Probability of that.
    """

    is_candidate: bool
    share: float


_MOST_AHEAD = 86_400.0
"""Seconds by which the clock of another machine may be ahead."""
ArmOf = Callable[[Mapping[str, Any]], Arm | None]
"""Says from a decision record whose it is; None where it isn't to be compared."""


@dataclass(frozen=True)
class SettledSession:
    """A session of which nothing more will count.

    Attributes:
        arm: Whose its first decision was.
        began: Time of that decision.
        reward: Mean reward of its decisions; NaN where none has one.
    """

    arm: Arm
    began: float
    reward: float


@dataclass
class _Session:
    arm: Arm
    began: float
    is_named: bool
    decisions: list[Mapping[str, Any]] = field(default_factory=list)


class LiveRewards:
    """Gathers decisions and feedback as they are logged, and hands out settled sessions.

    A session is the unit that chance put on one side, so it is one observation: the mean reward of
    its decisions within ``session_seconds`` of its first one, and on that one's side. A decision
    without a session is a session of its own. Feedback counts where it comes within
    ``expiry.after`` seconds of its decision; the session is settled when the last such moment has
    passed. So what a session is worth doesn't depend on when one looks, and quick feedback, which
    tends to be good, has no head start. Decisions without feedback are worth ``expiry.default``;
    without a default they are left out.

    Args:
        arm_of: Which decisions are compared.
        expiry: How long feedback is waited for, and what becomes of decisions without.
        composition: How feedback becomes a reward.
        session_seconds: How long a session lasts.
    """

    def __init__(
        self,
        arm_of: ArmOf,
        expiry: Expiry,
        composition: RewardComposition,
        session_seconds: float,
    ) -> None:
        self._arm_of = arm_of
        self._expiry = expiry
        self._composition = composition
        self._session_seconds = session_seconds
        self._open: dict[str, _Session] = {}
        self._closed: set[int] = set()
        self._feedback: list[Mapping[str, Any]] = []
        self._below_zero: set[str] = set()

    @property
    def n_open(self) -> int:
        """Sessions whose feedback may still come."""
        return len(self._open)

    def take(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Take in valid records of a log, in its order."""
        for record in records:
            if record["type"] == "decision":
                self._take_decision(record)
            else:
                self._feedback.append(record)
                if record["value"] < 0:
                    self._below_zero.add(record["kind"])

    def settled(self, now: float) -> list[SettledSession]:
        """Sessions that have been settled since the last call, in the order in which they began."""
        wait = self._session_seconds + (self._expiry.after or 0.0)
        done = {name: s for name, s in self._open.items() if now - s.began >= wait}
        if done:
            rewards = self._rewards(done)
            for name, session in done.items():
                del self._open[name]
                if session.is_named:
                    self._closed.add(hash(name))
        self._forget(now, wait)
        if not done:
            return []
        found = [
            SettledSession(session.arm, session.began, _mean(rewards.pop(name)))
            for name, session in done.items()
        ]
        return sorted(found, key=lambda session: session.began)

    def _forget(self, now: float, wait: float) -> None:
        """Drop feedback that is too late for all, and what a wrong clock put far ahead."""
        limit = now + wait + _MOST_AHEAD
        self._feedback = [r for r in self._feedback if now - wait < r["time"] <= limit + wait]
        wrong = [name for name, session in self._open.items() if session.began > limit]
        for name in wrong:
            del self._open[name]

    def _take_decision(self, record: Mapping[str, Any]) -> None:
        arm = self._arm_of(record)
        if arm is None:
            return
        tags, time = record.get("tags") or {}, record["time"]
        group = next((str(tags[tag]) for tag in GROUP_TAGS if tags.get(tag) is not None), None)
        name = record["id"] if group is None else group
        if group is not None and hash(name) in self._closed:
            return
        session = self._open.setdefault(name, _Session(arm, time, group is not None))
        is_same_side = session.arm.is_candidate == arm.is_candidate
        if is_same_side and time - session.began <= self._session_seconds:
            session.decisions.append(_slim(record))

    def _rewards(self, done: Mapping[str, _Session]) -> dict[str, Values]:
        """Rewards of the decisions of each session, NaN where there is none."""
        index, documents, joined = DecisionIndex(), Ragged("q"), GatheredFeedback()
        costs: list[float] = []
        times: list[float] = []
        for session in done.values():
            for record in session.decisions:
                index.add(record, len(costs))
                costs.append(record["cost"])
                times.append(record["time"])
                documents.append(record["documents"])
        for name, session in self._open.items():
            if name not in done:
                for record in session.decisions:
                    index.add(record, NO_ROW)
        for feedback in self._feedback:
            joined.append(feedback, index)
        columns = _in_time(joined.joined(index, documents), np.asarray(times), self._expiry)
        composed = compose(columns, np.asarray(costs), self._scaled())
        rewards = composed.rewards
        if self._expiry.default is not None:
            missing = np.isnan(rewards) & ~composed.lost
            default = self._expiry.default - self._composition.cost_weight * np.asarray(costs)
            rewards = np.where(missing, default, rewards)
        ends = np.cumsum([len(session.decisions) for session in done.values()])
        return dict(zip(done, np.split(rewards, ends[:-1]), strict=True))

    def _scaled(self) -> RewardComposition:
        """The composition with scales that a batch can't change: what was negative once, may be."""
        kinds = dict(self._composition.kinds)
        for name in self._below_zero:
            kind = kind_named(name, kinds)
            if kind.from_zero:
                kinds[name] = replace(kind, from_zero=False)
        return replace(self._composition, kinds=kinds)


def _slim(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What joining asks for."""
    return {
        "id": record["id"],
        "time": record["time"],
        "tags": record.get("tags"),
        "cost": record.get("cost") or 0.0,
        "documents": [hash(entry["id"]) for entry in record.get("documents") or ()],
    }


def _in_time(columns: FeedbackColumns, times: Values, expiry: Expiry) -> FeedbackColumns:
    """The feedback that came within its time."""
    if expiry.after is None or not len(columns.rows):
        return columns
    kept = columns.times - times[columns.rows] <= expiry.after
    return replace(
        columns,
        rows=columns.rows[kept],
        kinds=columns.kinds[kept],
        values=columns.values[kept],
        times=columns.times[kept],
        positions=columns.positions[kept],
    )


def _mean(rewards: Values) -> float:
    """Mean of those that are finite; NaN where none is."""
    finite = rewards[np.isfinite(rewards)]
    return float(finite.mean()) if len(finite) else float("nan")
