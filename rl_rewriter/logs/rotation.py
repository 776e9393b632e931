"""Rotated files of a log: their names, their order, compressing and deleting them.

A rotated file is named after its log and the moment of rotation,
``decisions.jsonl.20260131T235959.123456Z``, with ``.gz`` behind it once it is compressed.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import re
import shutil
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from rl_rewriter.logs.config import SECONDS_A_DAY
from rl_rewriter.logs.locked_file import stands_at

_STAMP = re.compile(r"\.(\d{8}T\d{6}\.\d{6}Z)(\.gz)?")
_FORMAT = "%Y%m%dT%H%M%S.%fZ"
_CHUNK = 1 << 20


def rotated_files(path: Path) -> list[Path]:
    """Rotated files of a log, oldest first; one a rotation, the uncompressed where both are there.

    Args:
        path: The log's own file.
    """
    found: dict[str, Path] = {}
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in os.scandir(path.parent):
            stamp = _stamp(path, entry.name)
            if not stamp or not entry.is_file():  # opening a pipe would wait for its writer
                continue
            if stamp not in found or not entry.name.endswith(".gz"):
                found[stamp] = path.with_name(entry.name)
    return [found[stamp] for stamp in sorted(found)]


def rotate(path: Path, now: float) -> None:
    """Rename the log; its lock must be held.

    The name is later than those of all earlier rotations, whatever the clock says.
    """
    moment = datetime.fromtimestamp(now, timezone.utc)
    earlier = rotated_files(path)
    if earlier:
        latest = _moment(path, earlier[-1])
        moment = max(moment, latest + timedelta(microseconds=1))
    path.rename(path.with_name(f"{path.name}.{moment.strftime(_FORMAT)}"))


def rotated_at(path: Path) -> float:
    """When the log was last rotated, in seconds since the epoch; 0 where it never was."""
    files = rotated_files(path)
    return _moment(path, files[-1]).timestamp() if files else 0.0


def prune(path: Path, *, keep: int | None, keep_days: float | None, now: float) -> None:
    """Delete rotated files beyond the newest ``keep`` and those rotated ``keep_days`` ago."""
    files = rotated_files(path)
    doomed = files[: max(0, len(files) - keep)] if keep is not None else []
    if keep_days is not None:
        oldest = now - keep_days * SECONDS_A_DAY
        doomed += [file for file in files if _moment(path, file).timestamp() < oldest]
    for file in doomed:
        plain = file.with_name(file.name.removesuffix(".gz"))
        for version in (_half_done(plain), compressed(plain), plain):
            version.unlink(missing_ok=True)


def compress_rotated(path: Path) -> None:
    """Compress all rotated files that aren't yet, those that a killed process left included."""
    for file in rotated_files(path):
        if file.suffix != ".gz":
            with suppress(FileNotFoundError):  # another process compressed or deleted it
                _compress(file)


def compressed(file: Path) -> Path:
    """Name of a rotated file once it is compressed."""
    return file.with_name(f"{file.name}.gz")


def _compress(file: Path) -> None:
    """Write the compressed file under another name, rename it, delete the file, in this order."""
    temporary = _half_done(file)
    with temporary.open("ab") as target:
        try:
            fcntl.flock(target, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process is at it
            return
        if not stands_at(temporary, target.fileno()):  # it was, and what we opened is its result
            return
        try:
            if not compressed(file).exists():
                target.truncate(0)
                with file.open("rb") as source, gzip.GzipFile("", "wb", fileobj=target) as packed:
                    shutil.copyfileobj(source, packed, _CHUNK)
                target.flush()
                os.fsync(target.fileno())
                temporary.rename(compressed(file))
            file.unlink()
        finally:
            temporary.unlink(missing_ok=True)


def _half_done(file: Path) -> Path:
    return file.with_name(f".{file.name}.gz-unfinished")


def _stamp(path: Path, name: str) -> str | None:
    """The moment in the name of a rotated file of this log; None for any other name."""
    match = _STAMP.fullmatch(name[len(path.name) :]) if name.startswith(path.name) else None
    if not match:
        return None
    try:
        _read_stamp(match.group(1))
    except ValueError:  # 99 o'clock: digits of somebody else
        return None
    return match.group(1)


def _moment(path: Path, file: Path) -> datetime:
    return _read_stamp(_stamp(path, file.name) or "")


def _read_stamp(stamp: str) -> datetime:
    return datetime.strptime(stamp, _FORMAT).replace(tzinfo=timezone.utc)
