"""Each record once, in order, whatever becomes of the file."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import to_line
from rl_rewriter.logs.locked_file import append_line, locked
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import compress_rotated, prune, rotate
from rl_rewriter.monitoring.follow import Follower
from tests.unit.monitoring.parts import decision


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def append(path: Path, *numbers: int) -> None:
    with path.open("ab") as file:
        for number in numbers:
            file.write(to_line(decision(f"d{number}", number)))


def new(follower: Follower) -> list[int]:
    return [int(record["id"][1:]) for record in follower.new_records()]


def test_what_is_appended_is_read_once(path: Path) -> None:
    append(path, 0, 1)
    follower = Follower(path)
    assert new(follower) == [0, 1]
    assert new(follower) == []
    append(path, 2)
    assert new(follower) == [2]
    follower.close()


def test_half_a_line_is_waited_for(path: Path) -> None:
    append(path, 0)
    whole = to_line(decision("d1"))
    with path.open("ab") as file:
        file.write(whole[:50])
    follower = Follower(path)
    assert new(follower) == [0]
    with path.open("ab") as file:
        file.write(whole[50:])
    assert new(follower) == [1]


@pytest.mark.parametrize("compresses", [False, True])
@pytest.mark.parametrize("times", [1, 3])
def test_rotations_lose_nothing_and_repeat_nothing(
    path: Path, times: int, compresses: bool
) -> None:
    append(path, 0)
    rotate(path, 1.0)
    append(path, 1)
    follower = Follower(path)
    assert new(follower) == [0, 1]
    expected = []
    for number in range(times):
        append(path, 10 * number + 2)
        rotate(path, 2.0 + number)
        append(path, 10 * number + 3)
        expected += [10 * number + 2, 10 * number + 3]
    if compresses:
        compress_rotated(path)
    assert new(follower) == expected
    append(path, 99)
    assert new(follower) == [99]


def test_a_rotation_before_the_next_file_begins(path: Path) -> None:
    append(path, 0)
    follower = Follower(path)
    assert new(follower) == [0]
    append(path, 1)
    rotate(path, 1.0)
    assert new(follower) == [1]
    assert new(follower) == []
    append(path, 2)
    assert new(follower) == [2]


def test_retention_may_delete_what_was_open(path: Path) -> None:
    append(path, 0)
    follower = Follower(path)
    assert new(follower) == [0]
    rotate(path, 1.0)
    append(path, 1)
    rotate(path, 2.0)
    prune(path, keep=1, keep_days=None, now=3.0)
    append(path, 2)
    assert new(follower) == [1, 2]


def test_a_file_that_is_cut_short_begins_again(path: Path) -> None:
    append(path, 0, 1, 2)
    follower = Follower(path)
    assert new(follower) == [0, 1, 2]
    path.write_bytes(to_line(decision("d7")))
    assert new(follower) == [7]


def test_a_log_that_is_not_there_yet(path: Path) -> None:
    follower = Follower(path)
    assert not follower.exists()
    assert new(follower) == []
    append(path, 0)
    assert follower.exists()
    assert new(follower) == [0]


def test_rubbish_is_counted(path: Path) -> None:
    path.write_bytes(b'rubbish\n{"schema": 1}\n\n' + b"[" * 100_000 + b"\n")
    append(path, 0)
    report = ReadReport(warns=False)
    assert new(Follower(path, report)) == [0]
    assert report.skipped.total() == 3


def test_a_compressed_log_is_read_once(path: Path) -> None:
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(to_line(decision("d0"))))
    follower = Follower(packed)
    assert new(follower) == [0]
    assert new(follower) == []


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        list(Follower(tmp_path).new_records())


def test_a_record_that_is_taken_back_is_never_read(path: Path) -> None:
    append(path, 0)
    follower, read = Follower(path), list[int]()
    assert new(follower) == [0]
    reading = threading.Thread(target=lambda: read.extend(new(follower)))
    with locked(path) as handle:
        size = os.fstat(handle).st_size
        append_line(handle, to_line(decision("d1")))
        reading.start()
        reading.join(0.1)
        os.ftruncate(handle, size)
    reading.join()
    append(path, 2)
    assert read + new(follower) == [2]
