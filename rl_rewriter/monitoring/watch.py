"""Drift as a callback: each finished request is looked at, and a change is told."""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.records import feedback_record
from rl_rewriter.monitoring.drift_report import DriftConfig, DriftReport, Evidence, Side, judge
from rl_rewriter.monitoring.joined_rewards import JoinedRewards, Waiting
from rl_rewriter.monitoring.reservoir import Reservoir
from rl_rewriter.monitoring.reward_change import RewardDetector
from rl_rewriter.monitoring.seen import Seen, seen_at, seen_in
from rl_rewriter.monitoring.shifts import shifts_between
from rl_rewriter.types import Feedback, RewriteDecision

_logger = logging.getLogger(__name__)

_WAITING = 10_000
_SETTINGS = (
    "_every",
    "_on_drift",
    "_in_background",
    "_config",
    "_n_reference",
    "_n_recent",
)


class FinishedRequest(Protocol):
    """What is looked at of a finished request."""

    @property
    def decision(self) -> RewriteDecision:
        """What was decided."""
        ...

    @property
    def tags(self) -> Mapping[str, Any]:
        """What the decision log says beside it."""
        ...


OnDrift = Callable[[DriftReport], None]


class DriftWatch:
    """A listener that compares the latest requests with the first ones, or with a log.

    Every so many requests the two are compared, in a thread of its own, so that no request waits
    for it. The k-th look may err with a chance of ``level / (k (k + 1))``, which sums to ``level``
    over all of them, however often it looks. Safe for several threads; what fails is counted and
    logged, never raised.

    Args:
        every: Requests between two looks.
        on_drift: Called with the report when the verdict becomes "look" or "act", and when it is
            "stable" again; by default a warning is logged.
        reference: Requests to compare with: the first so many.
        recent: Requests that count as the latest.
        config: Settings.
        in_background: Whether looks have a thread of their own.

    Attributes:
        failures: Calls that failed.
        report: The latest report; None before the first look.
    """

    def __init__(
        self,
        *,
        every: int = 1000,
        on_drift: OnDrift | None = None,
        reference: int = 5000,
        recent: int = 2000,
        config: DriftConfig | None = None,
        in_background: bool = True,
    ) -> None:
        if min(every, reference, recent) < 1:
            raise InputError(
                f"every, reference and recent must be at least 1, got {every}, {reference} and "
                f"{recent}"
            )
        self._every, self._on_drift, self._in_background = every, on_drift or _warn, in_background
        self._config = config or DriftConfig()
        self._reference: list[Seen] = []
        self._n_reference, self._n_recent = reference, recent
        self._begin()

    def _begin(self) -> None:
        self.failures = 0
        self.report: DriftReport | None = None
        self._recent: deque[Seen] = deque(maxlen=self._n_recent)
        rng = np.random.default_rng(self._config.seed)
        self._detector = RewardDetector(level=self._config.level, rng=rng)
        window = min(_WAITING, self._config.join_window)
        self._joined = JoinedRewards(window=window)
        self._n = self._looks = 0
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Locks that nobody holds."""
        self._lock, self._looking = threading.Lock(), threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy has the same reference, and watches what it serves."""
        with self._lock:
            reference = list(self._reference)
        return {**{name: self.__dict__[name] for name in _SETTINGS}, "_reference": reference}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def compare_with(self, log: str | Path) -> DriftWatch:
        """Compare with the decisions of a log instead of the first requests; returns itself.

        Raises:
            InputError: The log can't be read, or holds no decision.
        """
        rng = np.random.default_rng(self._config.seed)
        sample = Reservoir(self._n_reference, rng)
        for record in read_records(log):
            if record["type"] == "decision":
                sample.add(seen_in(record))
        if not sample.n:
            raise InputError(f"there is no decision in {log} to compare with")
        with self._lock:
            self._reference, self._n_reference = sample.rows, len(sample.rows)
        return self

    def __call__(self, served: FinishedRequest) -> None:
        """Take in one finished request."""
        try:
            seen = seen_at(served.decision, served.tags)
            with self._lock:
                self._joined.decision(seen)
                if len(self._reference) < self._n_reference:
                    self._reference.append(seen)
                else:
                    self._recent.append(seen)
                self._n += 1
                is_due = self._n % self._every == 0
            if is_due:
                self._start_look()
        except Exception:
            self._failed()

    def on_feedback(self, feedback: Feedback) -> None:
        """Take in what came of a request; without any, rewards aren't looked at."""
        try:
            record = feedback_record(feedback)
            with self._lock:
                self._joined.feedback(record)
        except Exception:
            self._failed()

    def _start_look(self) -> None:
        if not self._in_background:
            self._look()
        elif not self._looking.locked():
            threading.Thread(target=self._look, name="rl-rewriter-drift", daemon=True).start()

    def _look(self) -> None:
        if not self._looking.acquire(blocking=False):
            return
        try:
            report = self._compared()
            previous, self.report = self.report, report
            before = "stable" if previous is None else previous.verdict
            if _is_news(report.verdict, before):
                self._on_drift(report)
        except Exception:
            self._failed()
        finally:
            self._looking.release()

    def _compared(self) -> DriftReport:
        with self._lock:
            self._looks += 1
            reference, recent = list(self._reference), list(self._recent)
            waited, waiting = self._joined.waited(), self._joined.waiting()
        detector = self._detected(waited, waiting)
        level = self._config.level / (self._looks * (self._looks + 1))
        config = replace(self._config, level=level)
        shifts, notes = (
            ([], ()) if not recent else shifts_between(reference, recent, bins=config.bins)
        )
        evidence = Evidence(
            _side("the first requests", reference),
            _side("the latest requests", recent),
            shifts,
            detector.change(),
            detector.n,
            notes,
        )
        return judge(evidence, config)

    def _detected(self, waited: list[Waiting], waiting: list[Waiting]) -> RewardDetector:
        """A detector that has seen all; those that still wait will be seen again."""
        done, so_far = map(self._joined.rewards_of, (waited, waiting))
        if done is not None:
            self._detector.add(*done.by_conversation())
        detector = self._detector.copy()
        if so_far is not None:
            detector.add(*so_far.by_conversation())
        detector.finish()
        return detector

    def _failed(self) -> None:
        self.failures += 1
        if self.failures & (self.failures - 1) == 0:  # the 1st, 2nd, 4th, 8th and so on
            kind = getattr(sys.exc_info()[0], "__name__", "")  # its text may hold words of a query
            _logger.warning("drift can't be watched (failure %d): %s", self.failures, kind)
        _logger.debug("drift can't be watched", exc_info=True)


def _is_news(verdict: str, before: str) -> bool:
    """Whether a verdict is to be told after the one before."""
    if verdict in (before, "too few records"):
        return False
    return verdict != "stable" or before in ("look", "act")


def _side(what: str, rows: list[Seen]) -> Side:
    times = [row.time for row in rows]
    return Side(what, len(rows), (min(times), max(times)) if times else None)


def _warn(report: DriftReport) -> None:
    _logger.warning("drift: %s", report.first_line)
