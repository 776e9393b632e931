"""Whatever a file holds: records are read, the rest is named by its line, memory stays bounded."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES
from rl_rewriter.logs.reader import read_interactions, read_records, records_from
from rl_rewriter.logs.report import MAX_PROBLEMS, ReadReport
from rl_rewriter.types import Feedback
from tests.logged import decision, feedback, write_lines

GOOD = decision("good")


def line(record: Any) -> bytes:
    return json.dumps(record).encode() + b"\n"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in decision().items() if name != key}


PROBLEMS = {
    "not_json": (b"{nonsense\n", "is no JSON"),
    "too_deep": (b"[" * 100_000 + b"\n", "is nested too deeply to be read"),
    "not_an_object": (b"[1, 2]\n", "is no record but [1, 2]"),
    "schema": (line(decision(schema=2)), "has schema 2; this version reads schema 1"),
    "type": (line({"schema": 1, "type": "note"}), "is of type 'note', which is neither"),
    "no_id": (line(without("id")), "is a decision record without id"),
    "bad_id": (line(decision(id=7)), "has 7 for id, which must be a text that isn't empty"),
    "no_action": (line(decision(action=None)), "is a decision record without action"),
    "no_time": (line(without("time")), "is a decision record without time"),
    "bad_time": (line(decision(time="2026-01-01")), "has '2026-01-01' for time"),
    "bad_propensity": (line(decision(propensity=0)), "has 0 for propensity"),
    "bad_probabilities": (line(decision(probabilities={"keep": "1"})), "has {'keep': '1'} for"),
    "bad_state": (b'{"schema": 1, "type": "decision", "id": "1", "time": 1, "action": "keep", '
                  b'"state": [NaN]}\n', "has [nan] for state, which must be a list of finite"),
    "bad_documents": (line(decision(documents=[{"id": 1}])), "has [{'id': 1}] for documents"),
    "bad_tags": (line(decision(tags=["a"])), "has ['a'] for tags"),
    "bad_query": (line(decision(query=5)), "has 5 for query"),
    "bad_texts": (line(decision(texts=[5])), "has [5] for texts"),
    "bad_reason": (line(decision(reason=5)), "has 5 for reason"),
    "bad_cost": (line(decision(cost=1e400)), "has inf for cost"),
    "no_decision_id": (line(feedback(None)), "is a feedback record without decision_id"),  # type: ignore[arg-type]
    "no_value": (line(feedback(value=None)), "is a feedback record without value"),
    "bad_value": (line(feedback(value="good")), "has 'good' for value, which must be a finite"),
    "bad_position": (line(feedback(position=-1)), "has -1 for position"),
    "bad_document_id": (line(feedback(document_id=3)), "has 3 for document_id"),
    "too_long": (b'"' + b"a" * MAX_LINE_BYTES + b'"\n', f"is longer than {MAX_LINE_BYTES} bytes"),
}  # fmt: skip


@pytest.mark.parametrize("reason", PROBLEMS)
def test_a_problem_is_named_by_its_line_and_hides_nothing(
    tmp_path: Path, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad, sentence = PROBLEMS[reason]
    path = write_lines(tmp_path / "log.jsonl", [GOOD, bad, GOOD])
    report = ReadReport()
    assert list(read_records(path, report=report)) == [GOOD, GOOD]
    assert report.skipped == {reason: 1}
    [problem] = report.problems
    assert problem.startswith(f"{path} line 2 {sentence}")
    assert problem.endswith(", and was skipped")
    assert problem in caplog.text
    assert len(problem) < 400
    with pytest.raises(InputError) as raised:
        list(read_records(path, strict=True))
    assert f"{raised.value}, and was skipped" == problem


@pytest.mark.parametrize(
    "value", [True, 10**400, [10**400, -(10**400)], {"a": 1}, "x" * 10_000, [[1]], [None], None]
)
def test_no_value_of_any_field_raises(tmp_path: Path, value: Any) -> None:
    records = [{**record, key: value} for record in (GOOD, feedback()) for key in record]
    path = write_lines(tmp_path / "log.jsonl", records)
    report = ReadReport()
    assert len(list(read_records(path, report=report))) == report.records
    assert report.records + report.skipped.total() == len(records)


def test_optional_fields_may_be_null_or_missing(tmp_path: Path) -> None:
    least = {"schema": 1, "type": "decision", "id": "1", "time": 0, "action": "keep"}
    nulls = {name: least.get(name) for name in decision()}
    path = write_lines(tmp_path / "log.jsonl", [least, nulls, feedback(position=0)])
    assert list(read_records(path, strict=True)) == [least, nulls, feedback(position=0)]


def test_a_torn_last_line_is_told_from_a_broken_one(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [GOOD, b'{"schema": 1, "ty'])
    report = ReadReport()
    assert list(read_records(path, report=report)) == [GOOD]
    assert report.skipped == {"torn": 1}
    assert report.problems == [f"{path} line 2 ends in the middle of a record, and was skipped"]


def test_of_many_problems_the_first_are_told_and_all_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_lines(tmp_path / "log.jsonl", [b"nonsense\n"] * 1000)
    report = ReadReport()
    assert list(read_records(path, report=report)) == []
    assert report.skipped == {"not_json": 1000}
    assert len(report.problems) == MAX_PROBLEMS
    assert len(caplog.records) == MAX_PROBLEMS + 1


def test_marks_blank_lines_and_windows_line_ends_are_no_problem(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + line(GOOD).rstrip() + b"\r\n\r\n  \n" + line(feedback())
    path = write_lines(tmp_path / "log.jsonl", [content])
    assert list(read_records(path, strict=True)) == [GOOD, feedback()]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_empty_log(tmp_path: Path, content: bytes) -> None:
    path = write_lines(tmp_path / "log.jsonl", [content])
    assert list(read_records(path, strict=True)) == []


@given(st.binary(max_size=200))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any bytes"
    path.write_bytes(line(GOOD) + b"\n" + content + b"\n" + line(GOOD))
    records = list(read_records(path, report=ReadReport(warns=False)))
    assert records[0] == records[-1] == GOOD


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(gzip.compress(line(GOOD) + line(feedback())))
    assert list(read_records(path)) == [GOOD, feedback()]


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_damaged_gzip_is_read_as_far_as_it_goes(tmp_path: Path, damage: str) -> None:
    content = bytearray(gzip.compress(b"".join(line(decision(str(n))) for n in range(5000))))
    if damage == "truncated":
        del content[len(content) // 2 :]
    else:
        content[-6] ^= 255
    path = write_lines(tmp_path / "log.jsonl.gz", [bytes(content)])
    report = ReadReport()
    n_records = len(list(read_records(path, report=report)))
    assert 0 < n_records <= 5000
    assert report.skipped["damaged_gzip"] == 1
    assert report.problems[-1].startswith(f"{path} can't be unpacked past line ")
    with pytest.raises(InputError, match="can't be unpacked past line"):
        list(read_records(path, strict=True))


def test_memory_is_bounded_by_the_line_limit_whatever_the_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(line(GOOD))
        file.seek(256 << 20)  # a hole of zeros
        file.write(b"\n" + line(GOOD))
    code = """
import resource, sys
from rl_rewriter.logs.reader import read_records
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = sum(1 for _ in read_records(sys.argv[1]))
print(n, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    n_records, mib = map(int, done.stdout.split())
    assert n_records == 2
    assert mib < 100


def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "file", [GOOD])
    for path, message in (
        (tmp_path / "nowhere", "there is no decision log at"),
        (tmp_path, "is a folder; name the log file itself"),
        (file / "below", "can't be opened: Not a directory"),
        (Path("a\0b"), "can't be opened: embedded null"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_records(path))


def test_a_pipe_is_read_too(tmp_path: Path) -> None:
    code = """
from rl_rewriter.logs.reader import read_records
print(len(list(read_records("/dev/stdin"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input=line(GOOD) * 3, capture_output=True, check=True
    )
    assert done.stdout == b"3\n"


def test_what_is_appended_while_reading_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [GOOD])
    reading = read_records(path, strict=True)
    assert next(reading) == GOOD
    with path.open("ab") as file:
        file.write(b'{"half a li')
    assert list(reading) == []


def test_records_given_are_checked_too() -> None:
    report = ReadReport()
    assert list(records_from([GOOD, {"schema": 1}], report)) == [GOOD]
    assert report.problems[0].startswith("the records given, number 2 is of type None")


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [feedback()] * 12_000)
    told: list[tuple[str, int, int]] = []
    report = ReadReport(on_progress=lambda *entry: told.append(entry))
    assert sum(1 for _ in read_records(path, report=report)) == 12_000
    size = os.stat(path).st_size
    assert [(stage, total) for stage, _, total in told] == [("reading log.jsonl", size)] * 2
    assert 0 < told[0][1] < told[1][1] <= size


def test_feedback_finds_decisions_by_run_and_by_trace(tmp_path: Path) -> None:
    records = [
        decision("1", tags={"run_id": "run", "trace_id": "trace"}),
        decision("2", tags={"trace_id": "trace"}),
        decision("trace-2", tags={"parent_run_id": "chain", "trace_id": "run"}),
        *(feedback(name, kind=name) for name in ("1", "run", "trace", "chain", "trace-2", "?")),
    ]
    found = read_interactions(write_lines(tmp_path / "log.jsonl", records))
    assert [[f.kind for f in interaction.feedback] for interaction in found] == [
        ["1", "run", "trace"],
        ["trace"],
        ["chain", "trace-2"],
    ]


def test_joined_feedback_has_all_its_fields(tmp_path: Path) -> None:
    event = feedback("1", 2, "dwell_seconds", position=3, document_id="d")
    [found] = read_interactions(write_lines(tmp_path / "log.jsonl", [event, decision("1")]))
    assert found.feedback == (Feedback("1", 2.0, "dwell_seconds", 200.0, 3, "d"),)
