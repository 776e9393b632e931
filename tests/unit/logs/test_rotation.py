"""Rotated files: none lost, none read twice, none kept too long."""

from __future__ import annotations

import fcntl
import gzip
import os
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.rotation import compress_rotated, prune, rotate, rotated_at, rotated_files
from rl_rewriter.logs.store import DecisionLog, read_records
from rl_rewriter.types import Feedback

DAY = 86_400.0
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc).timestamp()


def wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(timeout=10)


def append(log: DecisionLog, name: str, moment: float | None = None) -> None:
    log.append_feedback(Feedback(name, 1.0, "thumb", time.time() if moment is None else moment))


def ids(path: Path) -> list[str]:
    return [record["decision_id"] for record in read_records(path)]


def rotated(path: Path, *stamps: str) -> list[Path]:
    files = [path.with_name(f"{path.name}.{stamp}") for stamp in stamps]
    for number, file in enumerate(files):
        file.write_bytes(f"content {number}\n".encode())
    return files


def test_a_log_is_rotated_before_it_grows_too_large_and_read_as_one(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=500))
    names = [f"decision-{number}" for number in range(20)]
    for name in names:
        append(log, name)
    files = [*rotated_files(log.path), log.path]
    assert len(files) > 3
    assert all(0 < file.stat().st_size <= 500 for file in files)
    assert ids(log.path) == names
    assert ids(files[0]) == names[: len(ids(files[0]))]


def test_a_record_larger_than_the_limit_has_a_file_of_its_own(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=1))
    for name in "abc":
        append(log, name)
    assert len(rotated_files(log.path)) == 2
    assert ids(log.path) == ["a", "b", "c"]


def test_rotated_files_are_compressed_and_read_in_order(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=500, compress=True))
    names = [f"decision-{number}" for number in range(20)]
    for name in names:
        append(log, name)
    wait_for_threads()
    files = rotated_files(log.path)
    assert {file.suffix for file in files} == {".gz"}
    assert sorted(tmp_path.iterdir()) == sorted([*files, log.path])
    assert ids(log.path) == names


def test_what_a_killed_process_left_uncompressed_is_compressed_later(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    first, second = rotated(path, "20260101T000000.000000Z", "20260102T000000.000000Z")
    first.with_name(f".{first.name}.gz-unfinished").write_bytes(b"half of it")
    second.with_name(f"{second.name}.gz").write_bytes(gzip.compress(b"content 1\n"))
    compress_rotated(path)
    assert [gzip.decompress(file.read_bytes()) for file in rotated_files(path)] == [
        b"content 0\n",
        b"content 1\n",
    ]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_another_process_compresses_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    [file] = rotated(path, "20260101T000000.000000Z")
    with file.with_name(f".{file.name}.gz-unfinished").open("ab") as theirs:
        theirs.write(b"at work")
        theirs.flush()
        fcntl.flock(theirs, fcntl.LOCK_EX)
        compress_rotated(path)
        assert Path(theirs.name).read_bytes() == b"at work"
    assert rotated_files(path) == [file]


def test_many_that_compress_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    files = rotated(path, *(f"20260101T0000{second:02}.000000Z" for second in range(60)))
    threads = [threading.Thread(target=compress_rotated, args=(path,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compress_rotated(path)  # one that found the other at work left the file to it
    assert [gzip.decompress(file.read_bytes()) for file in rotated_files(path)] == [
        f"content {number}\n".encode() for number in range(len(files))
    ]
    assert len(list(tmp_path.iterdir())) == len(files)


def test_what_another_process_finished_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does all of its work between our opening the unfinished file and our locking it."""
    path = tmp_path / "log.jsonl"
    rotated(path, "20260101T000000.000000Z")
    real = fcntl.flock

    def late(file: IO[bytes], operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        compress_rotated(path)
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    compress_rotated(path)
    [packed] = tmp_path.iterdir()
    assert gzip.decompress(packed.read_bytes()) == b"content 0\n"


def test_of_both_forms_the_uncompressed_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    [file] = rotated(path, "20260101T000000.000000Z")
    file.with_name(f"{file.name}.gz").write_bytes(b"")
    assert rotated_files(path) == [file]


def test_a_clock_that_was_set_back_does_not_mix_the_order(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for moment in (NOON, NOON - 3600, NOON):
        path.write_bytes(b"")
        rotate(path, moment)
    assert [file.name.split("31")[1] for file in rotated_files(path)] == [
        "T120000.000000Z",
        "T120000.000001Z",
        "T120000.000002Z",
    ]
    assert rotated_at(path) == pytest.approx(NOON, abs=1e-3)


def test_other_files_are_none_of_the_logs(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for name in (
        "log.jsonl.bak",
        "log.jsonl.20260101T000000Z",
        "log.jsonl.20269901T000000.000000Z",
    ):
        (tmp_path / name).write_bytes(b"mine")
    rotated(tmp_path / "other.jsonl", "20260101T000000.000000Z")
    assert rotated_files(path) == []
    assert rotated_at(path) == 0.0
    prune(path, keep=0, keep_days=1.0, now=NOON)
    assert len(list(tmp_path.iterdir())) == 4


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    config = LogConfig(max_bytes=1, keep=2)
    log = DecisionLog(tmp_path / "log.jsonl", config=config)
    for name in "abcdef":
        append(log, name)
    assert ids(log.path) == ["d", "e", "f"]


def test_old_files_are_deleted_in_all_their_forms(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    old, young = rotated(path, "20260128T115959.000000Z", "20260128T120001.000000Z")
    old.with_name(f"{old.name}.gz").write_bytes(b"")
    old.with_name(f".{old.name}.gz-unfinished").write_bytes(b"")
    prune(path, keep=None, keep_days=3.0, now=NOON)
    assert list(tmp_path.iterdir()) == [young]


def test_retention_in_days_reaches_the_file_in_use(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(keep_days=30.0))
    append(log, "yesterday", time.time() - 1.5 * DAY)
    append(log, "today")
    append(log, "today too")
    assert len(rotated_files(log.path)) == 1
    assert ids(log.path) == ["yesterday", "today", "today too"]


def test_old_decisions_written_today_do_not_each_get_a_file(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(keep_days=30.0))
    for number in range(5):
        append(log, str(number), 1000.0 + number)
    assert len(rotated_files(log.path)) == 1


def test_a_new_process_deletes_what_is_too_old(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(keep_days=1.0))
    rotated(log.path, "20200101T000000.000000Z")
    append(log, "a")
    assert rotated_files(log.path) == []


def test_a_reader_sees_one_moment_although_the_log_is_rotated_meanwhile(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=200, compress=True))
    for number in range(10):
        append(log, str(number))
    wait_for_threads()
    reading = read_records(log.path)
    seen = [next(reading)["decision_id"]]
    for number in range(10, 20):
        append(log, str(number))
    wait_for_threads()
    seen += [record["decision_id"] for record in reading]
    assert seen == [str(number) for number in range(10)]
    assert ids(log.path) == [str(number) for number in range(20)]


def test_no_record_is_read_twice_where_the_log_is_rotated_as_reading_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is, between opening the file in use and looking for rotated ones."""
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=1))
    append(log, "a")
    real, looks = os.scandir, []

    def late(folder: Path) -> Any:
        looks.append(folder)
        if len(looks) == 2:
            append(log, "b")
        return real(folder)

    monkeypatch.setattr(os, "scandir", late)
    assert ids(log.path) == ["a", "b"]


def test_a_reader_passes_over_files_that_retention_deletes_meanwhile(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(max_bytes=1))
    for name in "abc":
        append(log, name)
    reading = read_records(log.path)
    assert next(reading)["decision_id"] == "a"
    prune(log.path, keep=0, keep_days=None, now=NOON)
    assert [record["decision_id"] for record in reading] == ["c"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_bytes": 0}, "max_bytes must be at least 1, got 0"),
        ({"keep": -1, "max_bytes": 9}, "keep must not be negative, got -1"),
        ({"keep_days": 0.0}, "keep_days must be a positive number, got 0.0"),
        ({"fsync": "sometimes"}, "fsync must be .* got 'sometimes'"),
        ({"fsync_seconds": -1.0}, "fsync_seconds must be"),
        ({"keep": 3}, "keep are about rotated files: give max_bytes or keep_days"),
        ({"compress": True}, "compress and keep are about rotated files"),
    ],
)
def test_settings_that_do_nothing_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LogConfig(**settings)  # type: ignore[arg-type]
