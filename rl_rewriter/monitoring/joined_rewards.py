"""Rewards of a stream of decisions whose feedback comes later, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rl_rewriter.monitoring.seen import Seen
from rl_rewriter.rewards.composition import FeedbackColumns, RewardComposition, compose
from rl_rewriter.rewards.feedback import FeedbackKind, kind_named

Values = npt.NDArray[np.float64]

_TOGETHER = 1_000
_EARLY = 10_000
_MOST_OUTCOMES = 100


class _Outcome(NamedTuple):
    kind: str
    value: float
    time: float
    position: int


class Waiting(NamedTuple):
    """A decision and the feedback that has come for it."""

    id: str
    time: float
    group: str
    version: str
    stage: str
    cost: float
    runs: tuple[str, ...]
    outcomes: list[_Outcome]


@dataclass(frozen=True, eq=False)
class Rewarded:
    """Decisions whose reward is known, in the order in which they were made.

    Attributes:
        rewards: Shape ``(n,)``.
        times: Of the decisions, ``(n,)``.
        groups: Their conversations, ``n``.
        versions: Of their policies, ``n``.
        stages: Of a roll-out, "" for none, ``n``.
    """

    rewards: Values
    times: Values
    groups: Sequence[str]
    versions: Sequence[str]
    stages: Sequence[str]

    def by_conversation(self) -> tuple[Values, Values]:
        """Mean reward and first time of each conversation, ``(g,)`` each, in order."""
        number: dict[str, int] = {}
        rows = np.asarray([number.setdefault(g, len(number)) for g in self.groups], dtype=np.intp)
        means = np.bincount(rows, weights=self.rewards) / np.bincount(rows)
        return means, self.times[np.unique(rows, return_index=True)[1]]


OnRewards = Callable[[Rewarded], None]


class JoinedRewards:
    """Decisions wait for their feedback until ``window`` newer ones have come.

    Feedback finds a decision by its id, or by its run or trace. A document's rank is that which
    feedback gives itself; without one it counts as the first.

    Args:
        on_rewards: Told of decisions that have waited, a thousand at a time; those without feedback
            are left out. Without it they are kept for :meth:`waited`, as many as ``window``.
        window: Decisions that wait.
        composition: How feedback becomes a reward; by default every kind counts alike, less the
            logged cost.

    Attributes:
        n_feedback: Feedback that came.
        n_unmatched: Of it, what was about a decision that didn't wait: unknown, or too old.
        n_answered: Decisions that feedback came for.
        n_decisions: Decisions that came.
    """

    def __init__(
        self,
        on_rewards: OnRewards | None = None,
        *,
        window: int = 100_000,
        composition: RewardComposition | None = None,
    ) -> None:
        self.n_feedback = self.n_answered = self.n_decisions = self._n_unmatched = 0
        self._on_rewards, self._window = on_rewards, window
        self._composition = composition or RewardComposition()
        self._waiting: OrderedDict[str, Waiting] = OrderedDict()
        self._runs: dict[str, list[Waiting]] = {}
        self._early: OrderedDict[str, list[_Outcome]] = OrderedDict()
        self._n_early = 0
        self._left: deque[Waiting] = deque(maxlen=max(window, _TOGETHER))
        self._signed: set[str] = set()

    @property
    def n_unmatched(self) -> int:
        """Feedback that no decision was found for so far."""
        return self._n_unmatched + self._n_early

    def decision(self, seen: Seen) -> None:
        """A decision was made; one with an id that waits already is passed over."""
        if seen.id in self._waiting:
            return
        self.n_decisions += 1
        entry = Waiting(
            seen.id, seen.time, seen.group, seen.version, seen.stage, seen.cost, seen.runs, []
        )
        self._waiting[seen.id] = entry
        for run in seen.runs:
            self._runs.setdefault(run, []).append(entry)
        for name in (seen.id, *seen.runs) if self._early else ():
            outcomes = self._early.pop(name, [])
            self._n_early -= len(outcomes)
            for outcome in outcomes:
                self._answer(entry, outcome)
        while len(self._waiting) > self._window:
            self._let_go(self._waiting.popitem(last=False)[1])

    def feedback(self, record: Mapping[str, Any]) -> None:
        """An outcome came, as a valid feedback record."""
        self.n_feedback += 1
        position, kind = record.get("position"), record["kind"]
        outcome = _Outcome(
            kind, record["value"], record["time"], -1 if position is None else position
        )
        if outcome.value < 0.0 and kind_named(kind, self._composition.kinds).from_zero:
            self._signed.add(kind)
        name = record["decision_id"]
        found = self._waiting.get(name)
        entries = [found] if found is not None else self._runs.get(name, [])
        for entry in entries:
            self._answer(entry, outcome)
        if not entries:
            self._keep_early(name, outcome)

    def waited(self) -> list[Waiting]:
        """Those that have waited and weren't told of yet, once."""
        left = list(self._left)
        self._left.clear()
        return left

    @property
    def left(self) -> Sequence[Waiting]:
        """Those that have waited and weren't told of yet."""
        return list(self._left)

    def waiting(self) -> list[Waiting]:
        """Those that still wait and have feedback; more may come for them."""
        return [entry for entry in self._waiting.values() if entry.outcomes]

    def rewards_of(self, entries: Sequence[Waiting]) -> Rewarded | None:
        """What these have earned; None where that isn't known of any."""
        if not entries:
            return None
        composition = replace(self._composition, kinds=self._kinds())
        costs = np.asarray([entry.cost for entry in entries], dtype=np.float64)
        rewards = compose(_columns(entries), costs, composition).rewards
        kept = np.flatnonzero(np.isfinite(rewards)).tolist()
        if not kept:
            return None
        chosen = [entries[row] for row in kept]
        return Rewarded(
            rewards=rewards[kept],
            times=np.asarray([entry.time for entry in chosen]),
            groups=[entry.group for entry in chosen],
            versions=[entry.version for entry in chosen],
            stages=[entry.stage for entry in chosen],
        )

    def _answer(self, entry: Waiting, outcome: _Outcome) -> None:
        self.n_answered += not entry.outcomes
        if len(entry.outcomes) < _MOST_OUTCOMES:
            entry.outcomes.append(outcome)

    def _keep_early(self, name: str, outcome: _Outcome) -> None:
        self._early.setdefault(name, []).append(outcome)
        self._n_early += 1
        while self._n_early > _EARLY:
            dropped = len(self._early.popitem(last=False)[1])
            self._n_early -= dropped
            self._n_unmatched += dropped

    def _let_go(self, entry: Waiting) -> None:
        for run in entry.runs:
            others = [other for other in self._runs.get(run, ()) if other is not entry]
            if others:
                self._runs[run] = others
            else:
                self._runs.pop(run, None)
        if entry.outcomes:
            self._left.append(entry)
            if self._on_rewards is not None and len(self._left) >= _TOGETHER:
                rewarded = self.rewards_of(self.waited())
                if rewarded is not None:
                    self._on_rewards(rewarded)

    def _kinds(self) -> Mapping[str, FeedbackKind]:
        """Scales, those that a negative value has settled included."""
        given = self._composition.kinds
        return {
            **given,
            **{k: replace(kind_named(k, given), from_zero=False) for k in self._signed},
        }


def _columns(entries: Sequence[Waiting]) -> FeedbackColumns:
    names: dict[str, int] = {}
    flat = [(row, outcome) for row, entry in enumerate(entries) for outcome in entry.outcomes]
    kinds = [names.setdefault(outcome.kind, len(names)) for _, outcome in flat]
    return FeedbackColumns(
        rows=np.asarray([row for row, _ in flat], dtype=np.intp),
        kinds=np.asarray(kinds, dtype=np.intp),
        values=np.asarray([outcome.value for _, outcome in flat], dtype=np.float64),
        times=np.asarray([outcome.time for _, outcome in flat], dtype=np.float64),
        positions=np.asarray([outcome.position for _, outcome in flat], dtype=np.intp),
        names=tuple(names),
    )
