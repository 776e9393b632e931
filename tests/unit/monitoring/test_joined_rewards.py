"""Feedback finds its decision, late, early or by its run, in bounded memory."""

from __future__ import annotations

from typing import Any

import pytest

from rl_rewriter.logs.dataset import dataset
from rl_rewriter.monitoring.joined_rewards import JoinedRewards, Rewarded
from rl_rewriter.monitoring.seen import seen_in
from tests.unit.monitoring.parts import World, decision, thumb


def joined(records: list[dict[str, Any]], **settings: Any) -> tuple[JoinedRewards, list[float]]:
    told: list[float] = []

    def keep(rewarded: Rewarded) -> None:
        told.extend(rewarded.rewards.tolist())

    found = JoinedRewards(keep, **settings)
    for record in records:
        if record["type"] == "decision":
            found.decision(seen_in(record))
        else:
            found.feedback(record)
    rest = found.rewards_of([*found.left, *found.waiting()])
    return found, told + ([] if rest is None else rest.rewards.tolist())


@pytest.mark.parametrize("window", [100, 10_000])
def test_rewards_are_those_of_the_dataset(window: int) -> None:
    records = list(World(n=3000).records())
    _, rewards = joined(records, window=window)
    certain = ("deterministic", "untrained")
    assert rewards == dataset(records, include=certain)[0].rewards.tolist()  # type: ignore[arg-type]


def test_the_scale_of_thumbs_is_settled_by_the_first_negative_one() -> None:
    records = [decision(f"d{n}") for n in range(3)]
    records += [thumb("d0", -1.0), thumb("d1", 0.0), thumb("d2", 1.0)]
    assert joined(records)[1] == [0.0, 0.5, 1.0]
    assert joined([records[1], records[2], *records[4:]])[1] == [0.0, 1.0]


def test_feedback_finds_a_decision_by_its_run() -> None:
    records = [decision("d0", tags={"run_id": "r"}), thumb("r", 1.0)]
    found, rewards = joined(records)
    assert rewards == [1.0]
    assert found.n_unmatched == 0


def test_feedback_may_come_before_its_decision() -> None:
    found, rewards = joined([thumb("d0", 1.0), decision("d0")])
    assert rewards == [1.0]
    assert (found.n_answered, found.n_unmatched) == (1, 0)


def test_what_comes_too_late_is_counted_and_nothing_more() -> None:
    records = [*(decision(f"d{n}", n) for n in range(10)), thumb("d0", 1.0), thumb("d9", 1.0)]
    found, rewards = joined(records, window=5)
    assert rewards == [1.0]
    assert found.n_unmatched == 1


def test_memory_is_bounded_whatever_comes() -> None:
    records = [decision(f"d{n}", n, tags={"trace_id": f"t{n}"}) for n in range(3000)]
    records += [thumb(f"nobody{n}", 1.0) for n in range(30_000)]
    records += [thumb("d2999", 1.0)] * 1000
    found, _ = joined(records, window=50)
    assert len(found._waiting) == len(found._runs) == 50
    assert sum(map(len, found._early.values())) <= 10_000
    assert found.n_unmatched == 30_000
    assert max(len(entry.outcomes) for entry in found.waiting()) == 100


def test_a_conversation_has_one_mean() -> None:
    records = [decision(f"d{n}", n, tags={"session_id": f"s{n // 2}"}) for n in range(4)]
    records += [thumb("d0", 1.0), thumb("d1", 0.0), thumb("d3", 1.0)]
    found, _ = joined(records)
    rewarded = found.rewards_of(found.waiting())
    assert rewarded is not None
    means, times = rewarded.by_conversation()
    assert means.tolist() == [0.5, 1.0]
    assert times.tolist() == [records[0]["time"], records[3]["time"]]
