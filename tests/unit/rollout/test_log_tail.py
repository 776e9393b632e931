"""Reading a log that is being written, each record once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.rollout.log_tail import LogTail
from tests.logged import decision, feedback, write_lines


def names(tail: LogTail) -> list[str]:
    return [record["id"] for record in tail.new_records()]


def test_each_record_is_read_once(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl")
    tail = LogTail(log.path)
    for number in range(3):
        log.append(decision(f"a{number}"))
    assert names(tail) == ["a0", "a1", "a2"]
    assert names(tail) == []
    log.append(decision("b"))
    assert names(tail) == ["b"]


@pytest.mark.parametrize("compress", [False, True])
def test_rotation_between_looks_neither_hides_nor_repeats(tmp_path: Path, compress: bool) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=3_000))
    tail, written, read = LogTail(log.path), [], []
    for number in range(60):
        log.append(decision(f"d{number}"))
        written.append(f"d{number}")
        if number % 7 == 0:
            read += names(tail)
        rotated = [path for path in tmp_path.glob("log.jsonl.*") if path.suffix != ".gz"]
        for path in rotated if compress and number % 5 == 0 else ():
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    read += names(tail)
    assert len(list(tmp_path.iterdir())) > 5
    assert read == written


def test_a_line_that_is_being_written_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps(decision("b")).encode() + b"\n"
    write_lines(path, [decision("a"), line[:50]])
    tail = LogTail(path)
    assert names(tail) == ["a"]
    write_lines(path, [decision("a"), line, b"\n", b"rubbish\n", b'{"schema": 1}\n', decision("c")])
    assert names(tail) == ["b", "c"]
    assert tail.skipped == 2


def test_the_first_line_itself_may_not_be_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps(decision("a")).encode()[:40])
    tail = LogTail(path)
    assert names(tail) == []
    write_lines(path, [decision("a")])
    assert names(tail) == ["a"]


def test_a_log_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [decision("a"), decision("b"), decision("c")])
    tail = LogTail(path)
    names(tail)
    write_lines(path, [decision("x")])
    assert names(tail) == ["x"]


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no decision log"):
        names(LogTail(tmp_path / "nowhere"))
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="is a Parquet file"):
        names(LogTail(tmp_path / "log.parquet"))


def test_a_damaged_compressed_file_hides_no_other(tmp_path: Path) -> None:
    rotated = tmp_path / "log.jsonl.20260131T235959.000000Z.gz"
    packed = gzip.compress(
        b"".join(json.dumps(decision(f"a{n}")).encode() + b"\n" for n in range(99))
    )
    rotated.write_bytes(packed[:-200])
    write_lines(tmp_path / "log.jsonl", [decision("z"), feedback("z")])
    tail = LogTail(tmp_path / "log.jsonl")
    assert [record["type"] for record in tail.new_records()][-2:] == ["decision", "feedback"]
