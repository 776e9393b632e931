"""The verdict on a log: what changed is named, what is chance is not, and too little is said so."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.logs.window import Window
from rl_rewriter.monitoring.drift import DriftStream, drift
from rl_rewriter.monitoring.drift_report import DriftConfig, DriftReport
from rl_rewriter.monitoring.seen import Seen, seen_in
from rl_rewriter.monitoring.shifts import shifts_between
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.starting import keep_policy
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Needs
from tests.unit.monitoring.parts import FEATURES, SHIFTED, START, World, decision

CHANGED = World(n=4000, change=2500)


def of(world: World, **settings: Any) -> DriftReport:
    return drift(list(world.records()), **settings)


@pytest.mark.parametrize("seed", range(5))
def test_a_log_in_which_nothing_changed_is_stable(seed: int) -> None:
    found = of(World(seed=seed))
    assert found.first_line.startswith("stable: no shift in 22 columns of 992 recent decisions")
    assert found.alarms == ()
    assert found.needed == 0


@pytest.mark.parametrize(
    ("changed", "verdict", "named"),
    [
        ({"shift": 1.0}, "act", SHIFTED),
        ({"shift": 0.4}, "look", SHIFTED),
        ({"keep": 0.1}, "act", "action"),
        ({"fallbacks": 0.3}, "act", "reason"),
        ({"fall": 0.3}, "act", "the mean reward fell"),
        ({"fall": -0.3}, "look", "the mean reward rose"),
    ],
)
def test_what_changed_is_named(changed: Mapping[str, Any], verdict: str, named: str) -> None:
    found = of(replace(CHANGED, **changed))
    assert found.verdict == verdict
    assert named in found.reason
    assert len(found.alarms) <= 1  # nothing else is


def test_shares_say_how_they_changed() -> None:
    found = of(replace(CHANGED, fallbacks=0.3))
    (reason,) = (shift for shift in found.shifts if shift.name == "reason")
    before, now = reason.shares["fallback:timeout"]
    assert before == 0.0
    assert now == pytest.approx(0.3, abs=0.05)


def test_too_few_records_say_how_many_are_missing_and_enough_is_enough() -> None:
    few = of(World(n=200))
    assert few.verdict == "too few records"
    assert few.needed > 0
    assert f"about {few.needed:,} more" in few.reason
    # A quarter of the log is recent, hence three times as many come beside them.
    assert of(World(n=200 + 4 * few.needed)).verdict == "stable"


def test_few_recent_records_do_not_hide_a_fall_of_the_rewards() -> None:
    world = replace(CHANGED, fall=0.5)
    found = of(world, recent=Window(since=START + 2.0 * 3960))
    assert found.needed > 0
    assert found.verdict == "act"
    assert found.alarms == ()


def test_spans_can_be_named() -> None:
    world, middle = replace(CHANGED, shift=1.0), START + 2.0 * 2500
    assert of(world, recent=Window(since=middle)).verdict == "act"
    assert of(world, reference=Window(until=middle)).verdict == "act"
    before = of(world, reference=Window(until=START + 2000), recent=Window(START + 2000, middle))
    assert before.verdict == "stable"
    assert (before.reference.n, before.recent.n) == (1000, 1500)


@pytest.mark.parametrize(
    ("spans", "complaint"),
    [
        ({"reference": Window(since=START)}, "has no end"),
        ({"recent": Window(until=START)}, "has no beginning"),
        ({"reference": Window(until=START + 9), "recent": Window(since=START)}, "must begin where"),
    ],
)
def test_spans_that_cannot_be_compared_are_refused(
    spans: Mapping[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        of(World(n=10), **spans)


def test_a_fall_that_is_over_is_a_matter_to_look_at() -> None:
    bad = list(World(n=3500, change=2500, fall=0.55).records())
    good = [_later(record) for record in World(n=4000, seed=1).records()]
    found = drift([*bad, *good], recent=Window(since=START + 2.0 * 6000))
    assert found.verdict == "look"
    assert "before the recent ones" in found.reason


def _later(record: dict[str, Any]) -> dict[str, Any]:
    """The same record, of another conversation after the first 3,500 requests."""
    if record["type"] == "feedback":
        return record | {"decision_id": f"later {record['decision_id']}"}
    session = f"later {record['tags']['session_id']}"
    moved = {"id": f"later {record['id']}", "time": record["time"] + 7000.0}
    return record | moved | {"tags": {"session_id": session}}


def test_a_log_without_a_decision_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("rubbish\n")
    with pytest.raises(InputError, match=r"there is no decision in .*log.jsonl; .*line 1"):
        drift(path)


def test_new_features_and_new_policies_are_told() -> None:
    records = list(World(n=2000).records())
    for record in records[len(records) // 2 :]:
        if record["type"] == "decision":
            record |= {"state_schema": "other", "policy_version": "v2"}
    found = drift(records)
    assert any("the features changed" in note for note in found.notes)
    assert any("(v2)" in note for note in found.notes)
    assert {shift.name for shift in found.shifts} == {"action", "reason"}


def test_a_log_without_states_is_compared_by_actions_and_reasons() -> None:
    records = [r | ({"state": None} if "state" in r else {}) for r in World(n=2000).records()]
    found = drift(records)
    assert found.verdict == "stable"
    assert found.notes == ("no states were logged on one side: features weren't compared",)


def test_the_report_is_json_and_equal_for_equal_seeds() -> None:
    once, again = (of(World(n=3000), config=DriftConfig(sample=200)) for _ in range(2))
    assert json.loads(json.dumps(once.to_json(), allow_nan=False)) == again.to_json()


def test_memory_does_not_grow_with_the_stream() -> None:
    stream = DriftStream(config=DriftConfig(sample=320, join_window=100))
    for record in World(n=6000).records():
        stream.add(record)
    parts = stream._sides.timeline.part(0.0, 1.0)  # type: ignore[union-attr]  # there is one here
    assert sum(len(part.rows) for part in parts) <= 128 * 10
    assert len(stream.joined.waiting()) <= 100
    assert stream.report().verdict == "stable"


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0},
        {"look": 0.3},
        {"act": -1.0},
        {"reward_look": 0.5},
        {"bins": 1},
        {"sample": 10},
        {"join_window": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(InputError):
        DriftConfig(**wrong)


def embedded(n: int, size: int, shift: float, seed: int) -> list[Seen]:
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((n, size)) + shift * (np.arange(size) == size - 1)
    return [
        seen_in(decision(f"d{seed}-{row}"))._replace(state=array("f", states[row].tolist()))
        for row in range(n)
    ]


def test_an_embedding_is_summarised_and_a_move_in_a_late_direction_is_seen() -> None:
    names = [f"embedding_{row}" for row in range(40)]
    shifts, _ = shifts_between(embedded(2000, 40, 0.0, 0), embedded(2000, 40, 9.0, 1), names=names)
    features = {shift.name for shift in shifts} - {"action", "reason"}
    assert features == {"embedding_distance", *names[:3]}
    assert shifts[0].name == "embedding_distance"
    assert shifts[0].p_holm < 1e-6


@pytest.fixture(scope="module")
def policy() -> Checkpoint:
    """One whose features were fitted on the world's states before it changes."""
    states = [r["state"] for r in World(n=2000, seed=9).records() if r["type"] == "decision"]
    features: FeatureSet = FEATURES.fitted_on(np.asarray(states, dtype=np.float32))
    actions: ActionSpace = default_actions(Needs.NOTHING)
    network = keep_policy(len(features.columns), len(actions), 0.9)
    terms = CollectionStatistics.from_texts(["money back"])
    return Checkpoint(network, actions, features, terms, {"n_records": 2000})


def test_recent_states_are_compared_with_those_of_training(policy: Checkpoint) -> None:
    assert of(World(), reference=policy).verdict == "stable"
    moved = of(World(change=0, shift=1.0), reference=policy)
    assert (moved.verdict, moved.alarms) == ("act", (SHIFTED,))
    assert moved.shifts[0].found.psi == pytest.approx(1.0, abs=0.15)


def test_a_feature_that_was_constant_in_training_and_varies_now_is_an_alarm(
    policy: Checkpoint,
) -> None:
    records = list(World().records())
    for record in records[::2]:
        if record["type"] == "decision":
            record["state"][2] = 1.0
    found = drift(records, reference=policy)
    assert FEATURES.columns[2] in found.alarms


def test_states_of_other_features_than_the_policys_are_told(policy: Checkpoint) -> None:
    records = [decision(f"d{n}", n, state=[1.0, 2.0], state_schema="other") for n in range(300)]
    found = drift(records, reference=policy)
    assert any("no recent decision has a state" in note for note in found.notes)
