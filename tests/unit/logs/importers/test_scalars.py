"""Numbers, names, times and labels in every spelling."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from rl_rewriter.logs.importers.scalars import (
    label_value,
    mapping_of,
    name_of,
    number_of,
    parsed,
    seconds_of,
    session_in,
)
from tests.unit.logs.importers.parts import START


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00.000000",
        "2026-01-01 00:00:00 UTC",
        "2026-01-01T00:00:00.000000000Z",
        "2026-01-01T02:00:00+02:00",
        "2026-01-01T02:00:00.000+0200",
        " 2026-01-01T00:00:00Z ",
        "1767225600",
        "1767225600000000000",
        1_767_225_600,
        1_767_225_600.0,
        1_767_225_600_000,
        1_767_225_600_000_000,
        1_767_225_600_000_000_000,
        datetime(2026, 1, 1),
        datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_times_in_every_spelling(value: Any) -> None:
    assert seconds_of(value) == START


def test_fractions_of_seconds_are_kept() -> None:
    assert seconds_of("2026-01-01T00:00:00.123456789Z") == pytest.approx(START + 0.123456, abs=2e-6)
    assert seconds_of("2026-01-01T00:00:00.5+00:00") == START + 0.5
    assert seconds_of(1_767_225_600_250) == START + 0.25


@pytest.mark.parametrize(
    "value",
    [None, "", "yesterday", "2026-13-01T00:00:00Z", True, [], {}, float("nan"), "9" * 500],
)
def test_what_is_no_time(value: Any) -> None:
    assert seconds_of(value) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [(True, 1.0), (0, 0.0), ("0.5", 0.5), (" TRUE ", 1.0), ("false", 0.0), (-1.5, -1.5)],
)
def test_numbers(value: Any, number: float) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize("value", [None, "", "good", "nan", "-inf", 10**400, [1], {"a": 1}, b"1"])
def test_what_is_no_number(value: Any) -> None:
    assert number_of(value) is None


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("relevant", 1.0),
        ("Not Relevant", 0.0),
        ("thumbs-up", 1.0),
        ("hallucinated", 0.0),
        ("somewhat relevant", None),
        ("", None),
        (None, None),
        (3, None),
    ],
)
def test_only_labels_beyond_doubt_have_a_value(label: Any, value: float | None) -> None:
    assert label_value(label) == value


@pytest.mark.parametrize(
    ("value", "name"),
    [(" a ", "a"), (7, "7"), (True, ""), (None, ""), (1.5, ""), ("x" * 3_000, ""), (1 << 200, "")],
)
def test_names(value: Any, name: str) -> None:
    assert name_of(value) == name


def test_json_that_is_held_as_text() -> None:
    assert parsed(' {"a": 1}') == {"a": 1}
    assert parsed("[1]") == [1]
    assert parsed('"quoted words"') == '"quoted words"'
    assert parsed("{no json") == "{no json"
    assert parsed("[" * 100_000) == "[" * 100_000
    assert mapping_of("[1]") == mapping_of(None) == {}


def test_conversations_have_three_names() -> None:
    assert session_in({"thread_id": "a"}) == session_in('{"conversation_id": "a"}') == "a"
    assert session_in({"session_id": "a", "thread_id": "b"}) == "a"
    assert session_in(["session_id"]) == ""
