"""A part of a log by time: decisions, with whatever was said of them later."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import convert
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.window import Window
from tests.logged import decision, feedback, write_lines

RECORDS = [
    feedback("late", time=5.0),
    decision("early", time=10.0, tags={"trace_id": "t"}),
    decision("late", time=20.0),
    decision("late too", time=21.0, tags={"trace_id": "t"}),
    feedback("early", time=99.0),
    feedback("t", time=99.0),
    feedback("nobody", time=15.0),
    decision("early", time=30.0),
]


def names(source: Path, out: Path, **ends: float) -> list[str]:
    report = convert(source, out, window=Window(**ends))
    found = list(read_records(out))
    assert report.records == len(found)
    return [record.get("id") or f"about {record['decision_id']}" for record in found]


def test_a_log_divided_in_time(tmp_path: Path) -> None:
    log, out = write_lines(tmp_path / "log.jsonl", RECORDS), tmp_path / "out.jsonl"
    assert names(log, out, until=20.0) == ["early", "about early", "about t", "early"]
    assert names(log, out, since=20.0) == ["about late", "late", "late too", "about t"]
    assert names(log, out, since=11.0, until=21.0) == ["about late", "late"]


@pytest.mark.parametrize("ends", [(2.0, 1.0), (1.0, 1.0), (math.nan, 1.0)])
def test_a_window_that_holds_nothing_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="since must be before until"):
        Window(*ends)
