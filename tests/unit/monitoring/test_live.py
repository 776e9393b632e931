"""The live summary says what the log holds, without a terminal and without growing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rl_rewriter.monitoring.latency import LatencyHistogram
from rl_rewriter.monitoring.live import LiveSummary, Snapshot
from tests.unit.monitoring.parts import START, World, decision, thumb


def of(*records: dict[str, object], since: float = -math.inf) -> Snapshot:
    summary = LiveSummary(since=since)
    for record in records:
        summary.add(record)
    summary.look_for_drift()
    return summary.snapshot()


def test_counts_shares_and_rate_are_those_of_the_log() -> None:
    found = of(*World(n=1000, change=500, fallbacks=0.5).records())
    assert found.decisions == sum(found.actions.values()) == sum(found.reasons.values()) == 1000
    assert found.fallbacks == found.reasons["fallback:timeout"]
    assert found.per_second == pytest.approx(0.5, abs=0.02)
    assert found.feedback == found.answered
    assert found.answered_share == pytest.approx(0.8, abs=0.05)
    assert found.times == (START, START + 1998.0)
    assert len(found.warnings) == 5
    assert found.warnings[0].startswith("fallback:timeout (decision d9")
    assert found.drift is not None


def test_rewards_are_told_apart_by_policy_and_stage() -> None:
    records = [
        decision(
            f"d{n}",
            n,
            policy_version="new" if n % 4 == 0 else "old",
            tags={"rollout_stage": "canary"} if n % 4 == 0 else {},
        )
        for n in range(400)
    ]
    records += [thumb(f"d{n}", float(n % 4 == 0 or n % 2), n) for n in range(400)]
    old, new = of(*records).rewards
    assert (new.version, new.stage, new.n, new.mean, new.ci95) == (
        "new",
        "canary",
        100,
        1.0,
        (1.0, 1.0),
    )
    assert (old.version, old.stage, old.n) == ("old", "", 300)
    assert old.mean == pytest.approx(2 / 3)
    assert old.ci95 is not None
    deviation = np.std([0.0, 1.0, 1.0] * 100, ddof=1)
    assert old.ci95[1] - old.mean == pytest.approx(1.96 * deviation / math.sqrt(300))


def test_rewards_count_when_their_feedback_comes_and_once_alone() -> None:
    summary = LiveSummary()
    for n in range(25_000):  # more than wait for feedback at a time
        summary.add(decision(f"d{n}", n))
        summary.add(thumb(f"d{n}", 1.0, n))
    (reward,) = summary.snapshot().rewards
    assert reward.n == 25_000


def test_decisions_before_since_do_not_count() -> None:
    records = list(World(n=100).records())
    found = of(*records, since=START + 100.0)
    assert found.decisions == 50
    assert found.feedback == found.answered


def test_an_empty_log_has_a_frame_too() -> None:
    found = of()
    assert found.decisions == 0
    assert found.drift is None
    assert found.latency_ms is None
    assert found.answered_share == 0.0
    json.dumps(found.to_json(), allow_nan=False)


def test_memory_is_bounded_whatever_the_names_are() -> None:
    summary = LiveSummary()
    for n in range(5000):
        name = f"name {n}"
        summary.add(decision(name, 100 * n, action=name, reason=name, policy_version=name))
        summary.add(thumb(name, 1.0))
    found = summary.snapshot()
    assert max(len(found.actions), len(found.reasons), len(found.rewards)) <= 201
    assert found.actions["(other)"] == 4800
    assert len(summary._seconds) <= 120
    assert sum(reward.n for reward in found.rewards) == 5000


def test_percentiles_are_near_the_exact_ones() -> None:
    values = np.random.default_rng(0).lognormal(1.0, 1.0, 5000)
    histogram = LatencyHistogram()
    for value in values.tolist():
        histogram.add(value)
    for share in (0.5, 0.95, 0.99):
        exact = float(np.quantile(values, share))
        assert histogram.percentile(share) == pytest.approx(exact, rel=0.04)
    assert histogram.n == 5000


@pytest.mark.parametrize("value", [0.0, -5.0, 1e-9, 1e12])
def test_any_latency_has_a_cell(value: float) -> None:
    histogram = LatencyHistogram()
    histogram.add(value)
    assert histogram.percentile(0.5) is not None
