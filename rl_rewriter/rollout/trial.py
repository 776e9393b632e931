"""What is known of one rollout: who is on trial, against whom, and what both earned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.follow import Follower
from rl_rewriter.rollout.comparison import BeforeAndAfter, Comparison, SideBySide
from rl_rewriter.rollout.live_rewards import Arm, LiveRewards
from rl_rewriter.rollout.roll_back import RollBackConfig
from rl_rewriter.rollout.state import KEEP, RegistryState, Rollout
from rl_rewriter.rollout.tags import BASELINE, CANARY, FULL, ROLLOUT, SHARE, STAGE, VERSION

_UNEQUAL = 4.0
"""Standard errors by which shares of sessions without a reward may differ."""


class Trial:
    """All that is known of one rollout.

    Args:
        state: Of the registry when it was first looked at.
        log: The decision log.
        config: How long feedback is waited for, and what it is worth.

    Attributes:
        comparison: What both sides earned so far.
    """

    def __init__(self, state: RegistryState, log: Path, config: RollBackConfig) -> None:
        self._key = _key(state)
        self._log, self._follower = log, Follower(log)
        is_full = state.current.is_full
        arm_of = _before_and_after(state) if is_full else _side_by_side(state.current)
        self._rewards = LiveRewards(
            arm_of, config.expiry, config.composition, config.session_seconds
        )
        self.comparison: Comparison = BeforeAndAfter() if is_full else SideBySide()
        self._settled: Counter[bool] = Counter()
        self._missing: Counter[bool] = Counter()

    @property
    def n_open(self) -> int:
        """Sessions whose feedback may still come."""
        return self._rewards.n_open

    def is_of(self, state: RegistryState) -> bool:
        """Whether a registry in this state still rolls out the same."""
        return self._key == _key(state)

    def read(self, now: float) -> None:
        """Take in what the log holds beyond the last time.

        Raises:
            InputError: There is no such log, or it can't be read.
        """
        if not self._follower.exists():
            raise InputError(f"there is no decision log at {self._log}")
        self._rewards.take(self._follower.new_records())
        for session in self._rewards.settled(now):
            arm = session.arm
            self._settled[arm.is_candidate] += 1
            if math.isnan(session.reward):
                self._missing[arm.is_candidate] += 1
            else:
                self.comparison.add(session.reward, arm.share, is_candidate=arm.is_candidate)

    def warnings(self, config: RollBackConfig) -> tuple[str, ...]:
        """What makes the comparison doubtful."""
        n, m = self._settled[True], self._settled[False]
        if min(n, m) < config.min_sessions:
            return ()
        ours, theirs = self._missing[True] / n, self._missing[False] / m
        pooled = (self._missing[True] + self._missing[False]) / (n + m)
        error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
        if abs(ours - theirs) <= _UNEQUAL * error:
            return ()
        return (
            f"no feedback came for {ours:.1%} of the candidate's sessions and for {theirs:.1%} of "
            "the baseline's: those left out aren't alike, so give a default reward",
        )


def _key(state: RegistryState) -> tuple[object, ...]:
    """What a comparison is bound to: a canary's goes on while only its share changes."""
    current = state.current
    since = current.since if current.is_full else None
    return current.id, current.is_full, since, state.baseline


def why_no_trial(rollout: Rollout) -> str:
    """Why a rollout can't be judged by live rewards; "" where it can."""
    if rollout.version is None:
        return "no policy is promoted"
    if rollout.shadow:
        return "a shadow serves keep to all its sessions: its rewards can't be seen"
    return "" if rollout.on_trial else "what is served was rolled back to: it is on no trial"


def _side_by_side(rollout: Rollout) -> Callable[[Mapping[str, Any]], Arm | None]:
    def arm_of(record: Mapping[str, Any]) -> Arm | None:
        tags = record.get("tags") or {}
        stage = tags.get(STAGE)
        if tags.get(ROLLOUT) != rollout.id or stage not in (CANARY, BASELINE):
            return None
        share = _share(tags.get(SHARE))
        return None if share is None else Arm(stage == CANARY, share)

    return arm_of


def _before_and_after(state: RegistryState) -> Callable[[Mapping[str, Any]], Arm | None]:
    rollout, baseline = state.current, state.baseline or KEEP

    def arm_of(record: Mapping[str, Any]) -> Arm | None:
        tags = record.get("tags") or {}
        stage, is_after = tags.get(STAGE), record["time"] >= rollout.since
        if is_after and stage == FULL and tags.get(ROLLOUT) == rollout.id:
            return Arm(True, 1.0)
        is_before = not is_after and stage in (BASELINE, FULL) and tags.get(VERSION) == baseline
        return Arm(False, 1.0) if is_before else None

    return arm_of


def _share(value: Any) -> float | None:
    """A share between 0 and 1 as the log tells it; None where it tells none."""
    try:
        share = float(value)
    except (TypeError, ValueError):
        return None
    return share if 0.0 < share < 1.0 else None
