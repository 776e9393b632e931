"""Counts of a log, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
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
        "not_usable": {"fallback": 1, "propensity": 1},
        "without_feedback": 2,
        "unknown_decision": 1,
        "reasons": {"explored": 3, "fallback:search": 1},
        "policies": {"v1": 4},
        "kinds": {"thumb": 2, "click": 2},
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
