"""Reads decision logs in any of their forms, in constant memory, whatever stands in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES, from_line
from rl_rewriter.logs.joining import DecisionIndex, feedback_of
from rl_rewriter.logs.lines import PARQUET, TOO_LONG, DamagedFileError, lines_of, magic_of, opened
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.schema import Problem, problem_of
from rl_rewriter.types import Feedback, LoggedInteraction
from rl_rewriter.untrusted import is_too_much_json

Records = Iterable[Mapping[str, Any]]

_PROGRESS_LINES = 5_000
_TOO_LONG = Problem("too_long", f"is longer than {MAX_LINE_BYTES} bytes")
_TORN = Problem("torn", "ends in the middle of a record")
_NOT_JSON = Problem("not_json", "is no JSON")
_TOO_DEEP = Problem("too_deep", "is nested too deeply to be read")
_TOO_MUCH = Problem("too_many_values", "holds more values than any record")
_BLANK = Problem("blank", "is empty")


def read_records(
    path: str | Path, *, strict: bool = False, report: ReadReport | None = None
) -> Iterator[dict[str, Any]]:
    """All whole records of a log in order: JSON lines, gzipped or not, or Parquet.

    Rotated files of the log come first, oldest first. What isn't a record is passed over with a
    warning that names file and line.

    Args:
        path: The log's file; one rotated file can be named too.
        strict: Stop at the first problem instead.
        report: Filled with what was passed over, and with where the reader stands.

    Raises:
        InputError: There is no such file, it can't be read, or there is a problem and ``strict``.
    """
    report = ReadReport() if report is None else report
    report.strict |= strict
    try:
        with opened(Path(path)) as files:
            for name, file in files:
                report.file = str(name)
                yield from _records_of(name, file, report)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error}") from None


def records_from(source: str | Path | Records, report: ReadReport) -> Iterator[Mapping[str, Any]]:
    """Records of a path, or those given, checked the same way.

    Raises:
        InputError: As for :func:`read_records`.
    """
    if isinstance(source, str | Path):
        yield from read_records(source, report=report)
        return
    report.file, report.unit = "the records given,", "number"
    for report.number, record in enumerate(source, start=1):
        problem = problem_of(record)
        if problem is None:
            report.records += 1
            yield record
        else:
            report.skip(problem)


def read_interactions(
    path: str | Path, *, strict: bool = False, report: ReadReport | None = None
) -> list[LoggedInteraction]:
    """Decisions of a log joined with their feedback, in the order of the decisions.

    Feedback is joined by decision id, else by the run or trace that the decision was part of
    (:class:`rl_rewriter.logs.joining.DecisionIndex`).

    Args:
        path: As for :func:`read_records`.
        strict: Likewise.
        report: Likewise.

    Raises:
        InputError: As for :func:`read_records`.
    """
    decisions: list[dict[str, Any]] = []
    came: list[Feedback] = []
    index = DecisionIndex()
    for record in read_records(path, strict=strict, report=report):
        if record["type"] == "decision":
            index.add(record, len(decisions))
            decisions.append(record)
        else:
            came.append(feedback_of(record))
    joined: list[list[Feedback]] = [[] for _ in decisions]
    for feedback in came:
        for row in index.rows(feedback.decision_id):
            joined[row].append(feedback)
    return [LoggedInteraction(d, tuple(f)) for d, f in zip(decisions, joined, strict=True)]


def _records_of(path: Path, file: BinaryIO, report: ReadReport) -> Iterator[dict[str, Any]]:
    if magic_of(file) == PARQUET:
        from rl_rewriter.logs.parquet import parquet_records

        yield from parquet_records(path, report)
        return
    report.unit, report.number = "line", 0
    try:
        for report.number, line in enumerate(lines_of(file), start=1):
            if report.on_progress is not None and not report.number % _PROGRESS_LINES:
                size = os.fstat(file.fileno()).st_size
                report.on_progress(f"reading {path.name}", min(file.tell(), size), size)
            found = parsed(line)
            if type(found) is not Problem:
                problem = problem_of(found)
                if problem is None:
                    report.records += 1
                    yield found
                    continue
                report.skip(problem)
            elif found is not _BLANK:
                report.skip(found)
    except DamagedFileError as error:
        report.skipped["damaged_gzip"] += 1
        cause = f"{report.file} can't be unpacked past line {report.number}: {error}"
        report.tell(cause, "the rest was skipped")


def parsed(line: bytes) -> Any:
    """The JSON value of a line, or what is wrong with it."""
    if line == b"\n":
        return _BLANK
    if is_too_much_json(line):
        return _TOO_MUCH
    try:
        return from_line(line)
    except ValueError:
        if line is TOO_LONG:
            return _TOO_LONG
        if not line.strip():
            return _BLANK
        return _NOT_JSON if line.endswith(b"\n") else _TORN
    except RecursionError:
        return _TOO_DEEP
