"""What a log says about a running rewriter, kept up to date record by record."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.monitoring.drift import DriftStream
from rl_rewriter.monitoring.drift_report import DriftConfig, DriftReport
from rl_rewriter.monitoring.joined_rewards import Rewarded
from rl_rewriter.monitoring.latency import LatencyHistogram
from rl_rewriter.monitoring.seen import seen_in

_MAX_NAMES = 200
_WARNINGS = 5
_RATE_SECONDS = 60
_FALLBACK = "fallback"
_TWO_SIDED = 1.96


@dataclass(frozen=True)
class MeanReward:
    """Rewards of one policy version in one stage of a roll-out.

    Attributes:
        version: Of the policy.
        stage: Of the roll-out; "" for none.
        n: Decisions whose reward is known.
        mean: Their mean.
        ci95: Its interval by the normal distribution; None for fewer than two.
    """

    version: str
    stage: str
    n: int
    mean: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Snapshot:
    """A log at one moment.

    Attributes:
        decisions: Decisions so far.
        per_second: Decisions a second over the last minute of the log.
        times: First and last decision in seconds since the epoch; None where there is none.
        actions: Action -> decisions, most frequent first.
        reasons: Reason -> decisions, likewise.
        latency_ms: Median, 95th and 99th percentile of the time spent deciding; None where none is
            logged.
        feedback: Feedback that found its decision.
        answered: Decisions that feedback has come for.
        rewards: By policy version and stage, most frequent first.
        warnings: The last fallbacks, the newest first.
        skipped: Lines that are no record.
        drift: How the stream changed; None where there is no decision.
    """

    decisions: int
    per_second: float
    times: tuple[float, float] | None
    actions: Mapping[str, int]
    reasons: Mapping[str, int]
    latency_ms: tuple[float, float, float] | None
    feedback: int
    answered: int
    rewards: Sequence[MeanReward]
    warnings: Sequence[str]
    skipped: Mapping[str, int]
    drift: DriftReport | None

    @property
    def fallbacks(self) -> int:
        """Decisions that fell back to the original query."""
        return sum(n for reason, n in self.reasons.items() if reason.startswith(_FALLBACK))

    @property
    def answered_share(self) -> float:
        """Share of the decisions that feedback has come for."""
        return self.answered / self.decisions if self.decisions else 0.0

    def to_json(self) -> dict[str, Any]:
        """The object that ``monitor --json`` prints."""
        return {
            "schema": 1,
            "decisions": self.decisions,
            "requests_per_second": self.per_second,
            "first_time": self.times[0] if self.times else None,
            "last_time": self.times[1] if self.times else None,
            "actions": dict(self.actions),
            "reasons": dict(self.reasons),
            "fallbacks": self.fallbacks,
            "latency_ms": dict(zip(("p50", "p95", "p99"), self.latency_ms, strict=True))
            if self.latency_ms
            else None,
            "feedback": self.feedback,
            "answered_share": self.answered_share,
            "rewards": [
                asdict(reward) | {"ci95": list(reward.ci95) if reward.ci95 else None}
                for reward in self.rewards
            ],
            "warnings": list(self.warnings),
            "skipped": dict(self.skipped),
            "drift": self.drift.to_json() if self.drift else None,
        }


class LiveSummary:
    """Counts of a stream of records, in memory that doesn't grow with it.

    Args:
        since: Decisions before this second since the epoch don't count, nor does feedback about
            them.
        drift: When something is called drift.
    """

    def __init__(self, *, since: float = -math.inf, drift: DriftConfig | None = None) -> None:
        self._since = since
        self._stream = DriftStream(
            config=drift or DriftConfig(sample=5_000, join_window=20_000), on_rewards=self._rewarded
        )
        self._names: dict[str, Counter[str]] = {"action": Counter(), "reason": Counter()}
        self._latency = LatencyHistogram()
        self._first, self._last = math.inf, -math.inf
        self._seconds: deque[tuple[int, int]] = deque()
        self._moments: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
        self._warnings: deque[str] = deque(maxlen=_WARNINGS)
        self._drift: DriftReport | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one valid record."""
        if record["type"] != "decision":
            self._stream.joined.feedback(record)
        elif record["time"] >= self._since:
            self._decision(record)

    def look_for_drift(self) -> None:
        """Compare once more, which takes some ten milliseconds; snapshots hold the latest look."""
        self._drift = self._stream.report() if self._stream.n_decisions else None

    def snapshot(self, skipped: Mapping[str, int] | None = None) -> Snapshot:
        """How it stands.

        Args:
            skipped: What the reader passed over.
        """
        joined = self._stream.joined
        percentiles = [self._latency.percentile(share) for share in (0.5, 0.95, 0.99)]
        known = [p for p in percentiles if p is not None]
        return Snapshot(
            decisions=joined.n_decisions,
            per_second=self._rate(),
            times=(self._first, self._last) if joined.n_decisions else None,
            actions=dict(self._names["action"].most_common()),
            reasons=dict(self._names["reason"].most_common()),
            latency_ms=(known[0], known[1], known[2]) if known else None,
            feedback=joined.n_feedback - joined.n_unmatched,
            answered=joined.n_answered,
            rewards=self._rewards(),
            warnings=tuple(reversed(self._warnings)),
            skipped=dict(skipped or {}),
            drift=self._drift,
        )

    def _decision(self, record: Mapping[str, Any]) -> None:
        self._stream.decision(seen_in(record))
        reason = record.get("reason") or ""
        for sort, name in (("action", record["action"]), ("reason", reason)):
            counter = self._names[sort]
            is_known = name in counter or len(counter) < _MAX_NAMES
            counter[name if is_known else "(other)"] += 1
        latency = record.get("latency_ms")
        if isinstance(latency, int | float) and math.isfinite(latency):
            self._latency.add(latency)
        time = record["time"]
        self._first, self._last = min(self._first, time), max(self._last, time)
        self._count_second(math.floor(time))
        if reason.startswith(_FALLBACK):
            self._warnings.append(f"{reason} (decision {record['id']:.40}, time {time:.0f})")

    def _count_second(self, second: int) -> None:
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1] = (second, self._seconds[-1][1] + 1)
        else:
            self._seconds.append((second, 1))
        if len(self._seconds) > 2 * _RATE_SECONDS:
            self._seconds.popleft()

    def _rate(self) -> float:
        """Decisions a second over the last minute, or since the first of them."""
        if not self._seconds:
            return 0.0
        recent = sum(n for second, n in self._seconds if second > self._last - _RATE_SECONDS)
        span = min(float(_RATE_SECONDS), max(1.0, self._last - self._first))
        return recent / span

    def _rewarded(self, rewarded: Rewarded) -> None:
        self._add_moments(self._moments, rewarded)

    def _rewards(self) -> list[MeanReward]:
        joined = self._stream.joined
        moments = dict(self._moments)
        waiting = joined.rewards_of([*joined.left, *joined.waiting()])
        if waiting is not None:
            self._add_moments(moments, waiting)
        found = [_mean_of(name, sums) for name, sums in moments.items()]
        return sorted(found, key=lambda reward: -reward.n)

    @staticmethod
    def _add_moments(
        moments: dict[tuple[str, str], npt.NDArray[np.float64]], rewarded: Rewarded
    ) -> None:
        number: dict[tuple[str, str], int] = {}
        pairs = zip(rewarded.versions, rewarded.stages, strict=True)
        rows = np.asarray([number.setdefault(pair, len(number)) for pair in pairs], dtype=np.intp)
        earned = rewarded.rewards
        sums = np.stack([np.bincount(rows, weights=w) for w in (None, earned, earned**2)], axis=1)
        for name, place in number.items():
            key = name if name in moments or len(moments) < _MAX_NAMES else ("(other)", "")
            moments[key] = moments.get(key, np.zeros(3)) + sums[place]


def _mean_of(name: tuple[str, str], sums: npt.NDArray[np.float64]) -> MeanReward:
    n, total, squares = int(sums[0]), float(sums[1]), float(sums[2])
    mean = total / n
    if n < 2:
        return MeanReward(*name, n, mean, None)
    deviation = math.sqrt(max(0.0, squares / n - mean**2) / (n - 1))
    reach = _TWO_SIDED * deviation
    return MeanReward(*name, n, mean, (mean - reach, mean + reach))
