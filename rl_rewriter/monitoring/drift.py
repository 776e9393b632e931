"""Drift of a decision log: features, actions, reasons and rewards, in one pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.logs.reader import Records, records_from
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.window import Window
from rl_rewriter.monitoring.drift_report import DriftConfig, DriftReport, Evidence, Side, judge
from rl_rewriter.monitoring.joined_rewards import JoinedRewards, OnRewards, Rewarded
from rl_rewriter.monitoring.reservoir import Reservoir, Timeline
from rl_rewriter.monitoring.reward_change import RewardDetector
from rl_rewriter.monitoring.seen import Seen, seen_in
from rl_rewriter.monitoring.shifts import Shift, shifts_between
from rl_rewriter.monitoring.training_statistics import shifts_from_training
from rl_rewriter.policies.checkpoint import Checkpoint

_LATE_SHARE = 0.05
_FIRST_HALF, _LAST_QUARTER = (0.0, 0.5), (0.75, 1.0)

Reference = Window | Checkpoint


def drift(
    source: str | Path | Records,
    *,
    reference: Reference | None = None,
    recent: Window | None = None,
    config: DriftConfig | None = None,
    reading: ReadReport | None = None,
) -> DriftReport:
    """Say whether recent decisions and rewards are still like those of before.

    One pass in bounded memory: of each side a sample is kept, decisions wait for their feedback in
    a window.

    Args:
        source: The log's file in any form, or its records.
        reference: What it was like: a span of time, or a policy, whose training statistics recent
            states are compared with. By default the first half of the log, or all before
            ``recent``.
        recent: What it is like: by default the last quarter of the log, or all after
            ``reference``; with a policy all of it.
        config: Settings.
        reading: How the log is read: strictly, and with progress told.

    Raises:
        InputError: The log can't be read, or holds no decision.
    """
    stream = DriftStream(reference=reference, recent=recent, config=config)
    reading = ReadReport() if reading is None else reading
    for record in records_from(source, reading):
        stream.add(record)
    if not stream.n_decisions:
        name = source if isinstance(source, str | Path) else "the records given"
        first = f"; {reading.problems[0]}" if reading.problems else ""
        raise InputError(f"there is no decision in {name}{first}")
    return stream.report()


class DriftStream:
    """Drift of records that come one by one; memory doesn't grow with them.

    Args:
        reference: As for :func:`drift`.
        recent: Likewise.
        config: Settings.
        on_rewards: Told of rewards beside their being looked at here.
    """

    def __init__(
        self,
        *,
        reference: Reference | None = None,
        recent: Window | None = None,
        config: DriftConfig | None = None,
        on_rewards: OnRewards | None = None,
    ) -> None:
        self.config = config or DriftConfig()
        rng = np.random.default_rng(self.config.seed)
        self._sides = _sides(reference, recent, self.config, rng)
        self._detector = RewardDetector(level=self.config.level, rng=rng)
        self._on_rewards = on_rewards
        self.joined = JoinedRewards(self._rewarded, window=self.config.join_window)

    @property
    def n_decisions(self) -> int:
        """Decisions that were added, those of neither side included."""
        return self.joined.n_decisions

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one valid record."""
        if record["type"] == "decision":
            self.decision(seen_in(record))
        else:
            self.joined.feedback(record)

    def decision(self, seen: Seen) -> None:
        """Take in one decision."""
        self._sides.add(seen)
        self.joined.decision(seen)

    def report(self) -> DriftReport:
        """How it stands; the stream can go on afterwards."""
        detector = self._detector.copy()
        waiting = self.joined.rewards_of([*self.joined.left, *self.joined.waiting()])
        if waiting is not None:
            self._detect(detector, waiting)
        detector.finish()
        reference, recent, shifts, notes = self._sides.compared(self.config)
        evidence = Evidence(
            reference, recent, shifts, detector.change(), detector.n, [*notes, *self._late()]
        )
        return judge(evidence, self.config)

    def _rewarded(self, rewarded: Rewarded) -> None:
        self._detect(self._detector, rewarded)
        if self._on_rewards is not None:
            self._on_rewards(rewarded)

    def _detect(self, detector: RewardDetector, rewarded: Rewarded) -> None:
        means, times = rewarded.by_conversation()
        counted = self._sides.counts(times)
        detector.add(means[counted], times[counted])

    def _late(self) -> list[str]:
        joined = self.joined
        if joined.n_unmatched <= _LATE_SHARE * joined.n_feedback:
            return []
        return [
            f"{joined.n_unmatched:,} of {joined.n_feedback:,} feedback were about decisions that "
            f"are unknown or more than {self.config.join_window:,} decisions back"
        ]


@dataclass(frozen=True)
class _Sides:
    """Samples of the two sides."""

    timeline: Timeline | None
    reference: Reservoir
    recent: Reservoir
    windows: tuple[Window, Window]
    checkpoint: Checkpoint | None

    def add(self, seen: Seen) -> None:
        """Put a decision where it belongs."""
        if self.timeline is not None:
            self.timeline.add(seen)
            return
        for window, side in zip(self.windows, (self.reference, self.recent), strict=True):
            if seen.time in window:
                side.add(seen)

    def counts(self, times: np.ndarray) -> np.ndarray:
        """Which rewards are looked at, ``(n,)``: those of decisions of either side."""
        if self.timeline is not None:
            return np.ones(len(times), dtype=np.bool_)
        inside = [(times >= w.since) & (times < w.until) for w in self.windows]
        return np.asarray(inside[0] | inside[1])

    def compared(self, config: DriftConfig) -> tuple[Side, Side, Sequence[Shift], tuple[str, ...]]:
        """Both sides, how columns moved, and what to say about it."""
        if self.timeline is not None:
            before, now = self.timeline.part(*_FIRST_HALF), self.timeline.part(*_LAST_QUARTER)
            words = ("the first half of the log", "its last quarter")
        else:
            before, now = (self.reference,), (self.recent,)
            words = ("the span to compare with", "the recent span")
        reference, recent = _side(words[0], before), _side(words[1], now)
        rows = [row for part in now for row in part.rows]
        if self.checkpoint is not None:
            policy = Side("the policy's training statistics", None, None)
            shifts, notes = shifts_from_training(self.checkpoint, rows)
            return policy, recent, shifts, notes
        earlier = [row for part in before for row in part.rows]
        if not rows or not earlier:
            return reference, recent, [], ()
        shifts, notes = shifts_between(earlier, rows, bins=config.bins)
        return reference, recent, shifts, (*notes, *_of_versions(earlier, rows))


def _sides(
    reference: Reference | None,
    recent: Window | None,
    config: DriftConfig,
    rng: np.random.Generator,
) -> _Sides:
    windows, checkpoint, timeline = (Window(), Window()), None, None
    if isinstance(reference, Checkpoint):
        checkpoint = reference
        # Nothing is before the beginning: rewards are those of the recent decisions alone.
        windows = (recent or Window(), recent or Window())
    elif reference is None and recent is None:
        timeline = Timeline(rng, kept=max(1, config.sample // 32))
    elif recent is None:
        windows = (reference or Window(), Window(since=_end(reference)))
    else:
        windows = (reference or Window(until=_start(recent)), recent)
        if recent.since < windows[0].until:
            raise InputError(
                "the recent span must begin where the span to compare with has ended, got "
                f"{recent.since} and {windows[0].until}"
            )
    return _Sides(
        timeline,
        Reservoir(config.sample, rng),
        Reservoir(config.sample, rng),
        windows,
        checkpoint,
    )


def _end(reference: Window | None) -> float:
    if reference is None or math.isinf(reference.until):
        raise InputError("the span to compare with has no end: say until when it goes")
    return reference.until


def _start(recent: Window) -> float:
    if math.isinf(recent.since):
        raise InputError("the recent span has no beginning: say since when it counts as recent")
    return recent.since


def _side(what: str, parts: Sequence[Reservoir]) -> Side:
    n = sum(part.n for part in parts)
    first = min((part.first for part in parts), default=math.inf)
    last = max((part.last for part in parts), default=-math.inf)
    return Side(what, n, (first, last) if n else None)


def _of_versions(reference: Sequence[Seen], recent: Sequence[Seen]) -> tuple[str, ...]:
    """A word where another policy decides now: action shares change with it."""
    new = {row.version for row in recent} - {row.version for row in reference}
    share = sum(row.version in new for row in recent) / len(recent)
    if share < 0.05:
        return ()
    return (
        f"{share:.0%} of the recent decisions are by policies that the reference doesn't know "
        f"({', '.join(sorted(new)[:3])}): actions and rewards change with the policy",
    )
