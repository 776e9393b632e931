"""Each record once, in order, whatever becomes of the file."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.convert import convert
from rl_rewriter.logs.encoding import MAX_LINE_BYTES, to_line
from rl_rewriter.logs.follow import Follower
from rl_rewriter.logs.locked_file import append_line, locked
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import compress_rotated, prune, rotate
from rl_rewriter.logs.store import DecisionLog
from tests.logged import decision, feedback, write_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def append(path: Path, *numbers: int) -> None:
    with path.open("ab") as file:
        for number in numbers:
            file.write(to_line(decision(f"d{number}", time=float(number))))


def new(follower: Follower, at_most: int | None = None) -> list[int]:
    return [int(r["id"][1:]) for r in islice(follower.new_records(), at_most)]


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
    with pytest.raises(InputError, match="is a folder; name the log file itself"):
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


@pytest.mark.parametrize("compress", [False, True])
def test_a_log_that_rotates_by_itself(tmp_path: Path, compress: bool) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=3_000))
    follower, written, read = Follower(log.path), [], []
    for number in range(60):
        log.append(decision(f"d{number}"))
        written.append(number)
        if number % 7 == 0:
            read += new(follower)
        rotated = [path for path in tmp_path.glob("log.jsonl.*") if path.suffix != ".gz"]
        for path in rotated if compress and number % 5 == 0 else ():
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    read += new(follower)
    assert len(list(tmp_path.iterdir())) > 5
    assert read == written


def test_the_first_line_itself_may_not_be_whole(path: Path) -> None:
    whole = to_line(decision("d0"))
    path.write_bytes(whole[:40])
    follower = Follower(path)
    assert new(follower) == []
    with path.open("ab") as file:
        file.write(whole[40:])
    assert new(follower) == [0]


def test_rubbish_behind_a_line_that_was_not_whole_is_counted(path: Path) -> None:
    line = to_line(decision("d1"))
    write_lines(path, [decision("d0"), line[:50]])
    report = ReadReport(warns=False)
    follower = Follower(path, report)
    assert new(follower) == [0]
    rubbish = [b"\n", b"rubbish\n", b'{"schema": 1}\n']
    write_lines(path, [decision("d0"), line, *rubbish, decision("d2")])
    assert new(follower) == [1, 2]
    assert report.skipped.total() == 2


def test_a_damaged_compressed_file_hides_no_other(path: Path) -> None:
    rotated = path.with_name("log.jsonl.20260131T235959.000000Z.gz")
    packed = gzip.compress(b"".join(to_line(decision(f"d{n}")) for n in range(99)))
    rotated.write_bytes(packed[:-200])
    write_lines(path, [decision("d100"), feedback("d100")])
    report = ReadReport(warns=False)
    found = list(Follower(path, report).new_records())
    assert [record["type"] for record in found][-2:] == ["decision", "feedback"]
    assert report.skipped == {"damaged_gzip": 1}


def test_other_records_in_its_place_are_read_from_their_beginning(path: Path) -> None:
    """However long they are."""
    append(path, 0, 1, 2)
    follower = Follower(path)
    assert new(follower) == [0, 1, 2]
    write_lines(path, [decision(f"d{number}") for number in range(10, 16)])
    assert new(follower) == [10, 11, 12, 13, 14, 15]


def test_a_longer_copy_in_its_place_is_read_on(path: Path) -> None:
    """As rsync leaves it, which renames what it has copied."""
    append(path, 0, 1)
    follower = Follower(path)
    assert new(follower) == [0, 1]
    copied = path.with_name("copy")
    shutil.copy(path, copied)
    append(copied, 2)
    copied.replace(path)
    assert new(follower) == [2]
    append(path, 3)
    assert new(follower) == [3]


def test_who_stops_in_the_middle_goes_on_there(path: Path) -> None:
    append(path, 0, 1, 2)
    rotate(path, 1.0)
    append(path, 3, 4, 5)
    follower = Follower(path)
    assert [new(follower, 2) for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    assert new(follower) == []


def test_a_line_too_long_for_a_record_is_counted_once(path: Path) -> None:
    append(path, 0)
    with path.open("ab") as file:
        file.write(b"1" * (MAX_LINE_BYTES + 1) + b"\n")
    append(path, 1)
    report = ReadReport(warns=False)
    assert new(Follower(path, report)) == [0, 1]
    assert report.skipped == {"too_long": 1}


def test_a_parquet_log_is_read_once(path: Path) -> None:
    append(path, 0, 1)
    convert(path, path.with_suffix(".parquet"))
    follower = Follower(path.with_suffix(".parquet"))
    assert sorted(new(follower)) == [0, 1]
    assert new(follower) == []


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="is a device"):
        new(Follower("/dev/zero"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reads_for_itself(path: Path) -> None:
    append(path, 0)
    follower = Follower(path)
    assert new(follower) == [0]
    append(path, 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if new(follower) == [1] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert new(follower) == [1]


def test_the_file_is_let_go_with_the_follower(path: Path) -> None:
    append(path, 0)
    follower = Follower(path)
    assert new(follower) == [0]
    handle = follower._handle
    assert handle is not None
    os.fstat(handle)
    del follower
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


HAPPENINGS = ("append", "half", "rotate", "compress", "copy", "look", "begin to look")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happened=st.lists(st.sampled_from(HAPPENINGS), max_size=25))
def test_each_record_once_and_in_order_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, happened: list[str]
) -> None:
    path = tmp_path_factory.mktemp("followed") / "log.jsonl"
    follower, written, read = Follower(path), list[int](), list[int]()
    rest = b""
    for moment, what in enumerate(happened):
        if what in ("append", "half"):
            line, rest = rest or to_line(decision(f"d{len(written)}")), b""
            end = len(line) if what == "append" else len(line) // 2
            with path.open("ab") as file:
                file.write(line[:end])
            rest = line[end:]
            written += [len(written)] * (not rest)
        elif what == "rotate" and path.exists() and not rest:
            rotate(path, float(moment))
        elif what == "compress":
            compress_rotated(path)
        elif what == "copy" and path.exists():
            shutil.copy(path, path.with_name("copy"))
            path.with_name("copy").replace(path)
        elif what == "look":
            read += new(follower)
            assert read == written
        elif what == "begin to look":
            read += new(follower, 1)
    assert read + new(follower) == written
