"""Tells whether an SQLite file has changed, without a lock and without SQLite.

Opening the file with a second SQLite library in one process would be dangerous: POSIX locks belong
to the process, so closing *any* descriptor of a file drops the locks that the first library holds
on it (https://www.sqlite.org/howtocorrupt.html, 2.2). Here the file is opened once for reading and
never closed.
"""

from __future__ import annotations

import os
from pathlib import Path

_HEADER = 100
_ROLLBACK_JOURNAL = b"\x01\x01"
"""Format for writing and reading; with a write-ahead log, commits don't change the counter."""
_MAX_FILES = 64
_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs", "overlay", "tmpfs")
)
"""File systems on which a process sees at once what another one wrote."""

_opened: dict[tuple[int, int], int] = {}


def file_version(path: str) -> tuple[int, ...] | None:
    """Which file it is, and how often it was committed to; None where that can't be told.

    The counter is written before the commit takes effect and under an exclusive lock, so who reads
    it and then searches finds at least what it stands for
    (https://www.sqlite.org/fileformat.html, 1.3.7).
    """
    try:
        status = os.stat(path)
        handle = _handle(path, status)
        if handle is None:
            return None
        header = os.pread(handle, _HEADER, 0)
    except OSError:
        return None
    counter, valid_for = header[24:28], header[92:96]
    if len(header) < _HEADER or header[18:20] != _ROLLBACK_JOURNAL or counter != valid_for:
        return None
    which = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
    return (*which, int.from_bytes(counter, "big"))


def open_files() -> set[str]:
    """Paths of the files that this process has open; none where the system doesn't tell."""
    found = set()
    try:
        for name in os.listdir("/proc/self/fd"):
            try:
                found.add(os.readlink(f"/proc/self/fd/{name}"))
            except OSError:  # closed meanwhile
                continue
    except OSError:
        return set()
    return found


def _handle(path: str, status: os.stat_result) -> int | None:
    which = (status.st_dev, status.st_ino)
    handle = _opened.get(which)
    if handle is not None:
        return handle
    if len(_opened) >= _MAX_FILES:
        _close_deleted()
    if len(_opened) >= _MAX_FILES or not _is_local(path):
        return None
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    now = os.fstat(handle)
    _opened.setdefault((now.st_dev, now.st_ino), handle)
    return _opened.get(which)


def _close_deleted() -> None:
    """Files without a name: nobody can come to lock them any more."""
    for which, handle in list(_opened.items()):
        if os.fstat(handle).st_nlink == 0 and _opened.pop(which, None) is not None:
            os.close(handle)


def _is_local(path: str) -> bool:
    """Whether the file lies on a file system that is known to be this machine's own."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    longest, kind = -1, ""
    for line in lines:
        _, point, system, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:  # a later mount hides an earlier one
            longest, kind = len(point), system
    return kind in _LOCAL
