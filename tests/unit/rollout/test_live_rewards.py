"""What sessions earned, and when that counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from rl_rewriter.rewards.composition import RewardComposition
from rl_rewriter.rewards.feedback import Expiry
from rl_rewriter.rollout.live_rewards import Arm, LiveRewards
from tests.logged import decision, feedback


def arm_of(record: Mapping[str, Any]) -> Arm | None:
    side = record["tags"].get("side")
    return None if side is None else Arm(side == "candidate", 0.5)


def gathered(records: Iterable[Any] = (), **expiry: Any) -> LiveRewards:
    wait = Expiry(**{"after": 100.0, "mature_only": True} | expiry)
    found = LiveRewards(arm_of, wait, RewardComposition(), 50.0)
    found.take(records)
    return found


def made(name: str, side: str | None = "candidate", **changed: Any) -> dict[str, Any]:
    session = changed.pop("session", None)
    tags = {"side": side} | ({} if session is None else {"session_id": session})
    return decision(name, **{"time": 0.0, "tags": tags} | changed)


def rewards(found: LiveRewards, now: float = 1e6) -> list[float]:
    return [session.reward for session in found.settled(now)]


def test_a_session_counts_once_its_last_decision_has_waited_long_enough() -> None:
    found = gathered([made("a"), feedback("a", 0.5, time=10.0)])
    assert rewards(found, 149.0) == []
    assert found.n_open == 1
    assert rewards(found, 150.0) == [0.5]
    assert rewards(found, 151.0) == []
    assert found.n_open == 0


def test_a_session_is_the_mean_of_its_decisions_and_counts_once() -> None:
    found = gathered(
        [
            made("a", session="s"),
            made("b", session="s", time=50.0),
            made("late", session="s", time=51.0),
            *(feedback(n, v, time=60.0) for n, v in (("a", 1.0), ("b", 0.5), ("late", 0.0))),
        ]
    )
    assert rewards(found, 200.0) == [0.75]
    found.take([made("c", session="s", time=300.0), feedback("c", 0.0, time=301.0)])
    assert rewards(found) == []


def test_a_session_stays_on_the_side_of_its_first_decision() -> None:
    found = gathered(
        [
            made("a", "baseline", session="s"),
            made("b", "candidate", session="s", time=1.0),
            feedback("a", 0.25, time=2.0),
            feedback("b", 1.0, time=2.0),
        ]
    )
    [session] = found.settled(1e6)
    assert (session.arm.is_candidate, session.reward) == (False, 0.25)


def test_feedback_that_comes_too_late_does_not_count_whenever_one_looks() -> None:
    records = [made("a"), feedback("a", 1.0, time=100.0), feedback("a", 0.0, time=100.1)]
    assert rewards(gathered(records)) == [1.0]


def test_looks_in_between_change_nothing() -> None:
    records: list[Any] = []
    for number in range(40):
        time = 10.0 * number
        records.append(made(f"d{number}", time=time, session=f"s{number // 3}"))
        records.append(feedback(f"d{number}", number / 40, time=time + 7 * (number % 13)))
    at_once = gathered(records)
    step_by_step, seen = gathered(), []
    for record in sorted(records, key=lambda record: record["time"]):
        step_by_step.take([record])
        seen += step_by_step.settled(record["time"])
    seen += step_by_step.settled(1e6)
    assert seen == at_once.settled(1e6)


@pytest.mark.parametrize(("default", "expected"), [(None, math.nan), (0.2, 0.1)])
def test_what_no_feedback_came_for_is_left_out_or_given_the_default(
    default: float | None, expected: float
) -> None:
    found = gathered([made("a", cost=0.1)], default=default)
    assert rewards(found) == pytest.approx([expected], nan_ok=True)


def test_feedback_by_trace_and_by_document_is_joined() -> None:
    tags = {"side": "candidate", "trace_id": "t", "session_id": "s"}
    found = gathered(
        [
            feedback("t", 0.5, "resolved", time=5.0),  # before its decision, as another process may
            decision("a", time=0.0, tags=tags),
            decision("b", time=1.0, tags={"side": "candidate"}),
            feedback("b", 1.0, "click", document_id="b", time=5.0),
        ]
    )
    assert rewards(found) == pytest.approx([0.5, 1 / math.log2(3)])


def test_a_thumb_down_keeps_its_scale_for_those_that_come_after() -> None:
    found = gathered([made("a"), feedback("a", -1.0, "thumb", time=1.0)])
    assert rewards(found, 200.0) == [0.0]
    found.take([made("b", time=300.0), feedback("b", 0.0, "thumb", time=301.0)])
    assert rewards(found) == [0.5]


def test_decisions_of_no_side_are_left_alone() -> None:
    found = gathered([made("a", None), feedback("a"), feedback("nobody")])
    assert rewards(found) == []
    assert found.n_open == 0


def test_what_a_wrong_clock_put_far_into_the_future_is_forgotten() -> None:
    found = gathered([made("a", time=1e15), feedback("a", time=1e15), made("b")])
    assert len(found.settled(1_000.0)) == 1
    assert found.n_open == 0
