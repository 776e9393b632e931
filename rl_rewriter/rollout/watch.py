"""Follows the decision log of a rollout, and rolls back where live rewards say so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.rollout.roll_back import Evidence, RollBackConfig, judge
from rl_rewriter.rollout.state import KEEP, Rollout
from rl_rewriter.rollout.tags import CANARY, FULL
from rl_rewriter.rollout.trial import Trial, why_no_trial

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Look:
    """What one look at the log found, and did.

    Attributes:
        rolled_back: The policy was rolled back now.
        candidate: Version on trial; None where none is.
        baseline: What it is compared with; None is keep.
        stage: "canary", "full", or "" where nothing can be compared.
        evidence: What was seen; None where nothing can be compared.
        reason: Why, in words.
        open_sessions: Sessions whose feedback may still come.
        warnings: What makes the comparison doubtful.
    """

    rolled_back: bool
    candidate: str | None
    baseline: str | None
    stage: str
    evidence: Evidence | None
    reason: str
    open_sessions: int = 0
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What ``policies watch --json`` prints."""
        seen = self.evidence or Evidence("go_on", self.reason, (0, 0), (None, None))
        return {
            "schema": 1,
            "rolled_back": self.rolled_back,
            "candidate": self.candidate,
            "baseline": self.baseline or KEEP,
            "stage": self.stage,
            **seen.to_json(),
            "open_sessions": self.open_sessions,
            "warnings": list(self.warnings),
        }


class Watch:
    """Compares the policy on trial with its baseline at each look, from where the last one ended.

    A canary is compared with the baseline at the same time. A policy that all sessions get is
    compared with what the baseline earned before, which the log must still hold. A shadow serves
    nothing, and what was rolled back to is on no trial: there is nothing to compare.

    All decisions of a side count, fallbacks included: they are what serving that policy brings. For
    one thread at a time.

    Args:
        registry: What is rolled out; also what is rolled back.
        log: The decision log that serving writes: JSON lines, rotated or not.
        config: The rule.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        registry: PolicyRegistry,
        log: str | Path,
        config: RollBackConfig | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.registry = registry
        self.config = config or RollBackConfig()
        self._log = Path(log)
        self._clock = clock
        self._trial: Trial | None = None

    def look(self) -> Look:
        """Read what is new, judge, and roll back where that follows.

        Raises:
            InputError: There is no such log, or no registry.
            CheckpointError: The registry's state is damaged.
        """
        state = self.registry.state()
        rollout = state.current
        stage = FULL if rollout.is_full else CANARY
        why_not = why_no_trial(rollout)
        if why_not:
            self._trial = None
            return Look(False, None, state.baseline, "", None, why_not)
        trial = self._trial
        if trial is None or not trial.is_of(state):
            trial = self._trial = Trial(state, self._log, self.config)
        trial.read(self._clock())
        found = judge(trial.comparison, self.config)
        rolled_back = found.rolls_back and self._roll_back(found.reason, rollout)
        return Look(
            rolled_back,
            rollout.version,
            state.baseline,
            stage,
            found,
            found.reason,
            trial.n_open,
            trial.warnings(self.config),
        )

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy reads the log from its beginning."""
        return {**self.__dict__, "_trial": None}

    def _roll_back(self, reason: str, rollout: Rollout) -> bool:
        done = self.registry.roll_back(reason, only=rollout.id) is not None
        if done:
            _logger.warning("policy %s was rolled back: %s", rollout.version, reason)
        return done


class EveryNRequests:
    """A listener that lets a watch look after every so many requests, beside the work.

    One look at a time, in a thread of its own; an error is warned of, and the next look comes.
    Where several processes serve, each of them may look: only one rolls back.

    Args:
        watch: What looks.
        every: Number of requests between two looks.
    """

    def __init__(self, watch: Watch, every: int = 50) -> None:
        self.watch = watch
        self.every = max(1, every)
        self._n = 0
        self._thread: threading.Thread | None = None

    def __call__(self, served: object) -> None:
        """Count one request."""
        self._n += 1
        is_looking = self._thread is not None and self._thread.is_alive()
        if self._n < self.every or is_looking:
            return
        self._n = 0
        self._thread = threading.Thread(target=self._look, daemon=True, name="rl-rewriter-watch")
        self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the look that is under way."""
        if self._thread is not None:
            self._thread.join(timeout)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy has a thread of its own."""
        return {**self.__dict__, "_thread": None}

    def _look(self) -> None:
        try:
            self.watch.look()
        except Exception as error:
            _logger.warning("live rewards can't be looked at: %s", error)
