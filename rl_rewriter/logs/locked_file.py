"""One file that several threads and processes append to, a whole line at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Descriptor of the file that stands at ``path``, held by nobody else until the block ends.

    Args:
        path: The file; made with its folders where it doesn't exist.
    """
    while True:
        handle = _open(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not stands_at(path, handle):  # renamed or deleted while we waited
                continue
            yield handle
            return
        finally:
            with suppress(OSError):
                # Not left to close: a process forked meanwhile would hold the lock with us.
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def stands_at(path: Path, handle: int) -> bool:
    """Whether an open file is still the one with this name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def append_line(handle: int, line: bytes) -> None:
    """Write all of a line or, where the disk is full, nothing of it; close a torn one before it.

    Raises:
        OSError: The line couldn't be written.
    """
    size = os.fstat(handle).st_size
    is_torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
    content = b"\n" + line if is_torn else line
    try:
        while content:
            content = content[os.write(handle, content) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def complete_size(handle: int) -> int | None:
    """Bytes that stand in the file while nobody is writing; None where that can't be known.

    A reader that stops there never meets a line that is being written.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        try:
            return os.fstat(handle).st_size
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
    except OSError:  # a file system without locks
        return None


def sync(handle: int, folder: Path | None) -> None:
    """Wait until the disk has the file, and its name in a folder where one is given."""
    os.fsync(handle)
    if folder is not None:
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _open(path: Path) -> int:
    try:
        return os.open(path, _FLAGS, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, _FLAGS, 0o644)
