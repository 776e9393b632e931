"""Counts of a log, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.summary import summarise
from tests.logged import decision, feedback, write_lines


def test_everything_is_counted(tmp_path: Path) -> None:
    records = [
        decision("1", time=10.0, tags={"trace_id": "t"}),
        decision("2", time=30.0),
        decision("3", time=20.0, action="keep", reason="fallback:search", propensity=None),
        decision("4", action="topic", propensity=0.7),
        b"nonsense\n",
        feedback("t", 1, "thumb"),
        feedback("2", 1, "click"),
        feedback("2", 1, "click"),
        feedback("nobody", 1, "thumb"),
    ]
    path = write_lines(tmp_path / "log.jsonl", records)
    found = summarise(path).to_json()
    contradiction = (
        f"{path} line 4 has propensity 0.7 beside a probability of 0.2, and can't be learned from"
    )
    assert found == {
        "schema": 1,
        "records": 8,
        "decisions": 4,
        "feedback": 4,
        "with_propensity": 3,
        "skipped": {"not_json": 1},
        "actions": {"keywords": 2, "keep": 1, "topic": 1},
        "problems": [contradiction, f"{path} line 5 is no JSON, and was skipped"],
        "usable": 2,
        "with_state": 2,
        "not_usable": {"fallback": 1, "propensity": 1},
        "without_feedback": 2,
        "unknown_decision": 1,
        "reasons": {"explored": 3, "fallback:search": 1},
        "policies": {"v1": 4},
        "kinds": {"thumb": 2, "click": 2},
        "off_scale": {},
        "propensity": {
            "min": pytest.approx(0.3),
            "median": pytest.approx(0.3),
            "max": pytest.approx(0.7),
        },
        "first_time": 10.0,
        "last_time": 100.0,
    }
    json.dumps(found, allow_nan=False)


def test_an_empty_log_has_nothing_of_anything(tmp_path: Path) -> None:
    found = summarise(write_lines(tmp_path / "log.jsonl", []))
    assert (found.records, found.propensity, found.times) == (0, None, None)
    json.dumps(found.to_json(), allow_nan=False)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "picture.png", [b"\x89PNG\r\n\x1a\n\x00\x00"])
    with pytest.raises(InputError, match=r"no record of a decision log: .*png line 1 is no JSON"):
        summarise(path)


def test_a_thousand_names_are_enough(tmp_path: Path) -> None:
    records = [decision(str(n), action=f"a{n}", probabilities=None) for n in range(1200)]
    actions = summarise(records).actions
    assert len(actions) == 1001
    assert actions["(other)"] == 200


def test_what_a_dataset_leaves_out_is_not_usable_and_a_problem() -> None:
    records = [
        decision("1"),
        decision("1"),
        decision("2"),
        decision("3", state=[1.0], state_schema="other"),
        decision("4", state=None, state_schema=""),
        decision("5", reason="untrained"),
    ]
    found = summarise(records)
    assert found.not_usable == {
        "duplicate_id": 1,
        "no_state": 1,
        "other_state_schema": 1,
        "untrained": 1,
    }
    _, report = dataset([*records, *(feedback(str(n)) for n in range(1, 6))])
    assert (found.usable, found.with_state) == (report.rows, 2)
    assert found.not_usable == report.counts
    assert found.problems == (
        "1 decisions have the id of an earlier one, and can't be learned from",
        "1 decisions have no state, which others have, and can't be learned from",
        "1 decisions have states of other features (state_schema) than most, and can't be learned "
        "from",
    )
    assert (found.decisions, found.without_feedback) == (6, 5)


def test_values_off_their_scale_are_counted() -> None:
    values = [feedback("1", -1, "user_score"), feedback("1", 1, "user_score")]
    found = summarise([decision("1"), *values, feedback("1", -1, "thumb")])
    assert found.off_scale == {"user_score": 1}
    assert found.problems == (
        "1 feedback values of kind 'user_score' are off its scale, and count for nothing",
    )
