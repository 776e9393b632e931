"""Folders that only one command writes at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_held: dict[Path, int] = {}
"""Descriptors of the lock files that this process holds; closed when it ends, however it does."""
_LOCK = ".lock"


def hold(folder: Path, *, alone: bool) -> bool:
    """Hold a folder until this process ends, or until it is held in another way.

    Args:
        folder: An existing folder.
        alone: Whether nobody else may hold it, for writing; else others may read beside.

    Returns:
        Whether it is held now: not where another process stands in the way.
    """
    folder = folder.resolve()
    handle = _held.get(folder)
    if handle is None:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            if folder not in _held:
                os.close(handle)
            return False
        # A file system without locks: nothing can be told apart there.
    _held[folder] = handle
    return True


def release(folder: Path) -> None:
    """Let others hold the folder again."""
    handle = _held.pop(folder.resolve(), None)
    if handle is not None:
        os.close(handle)
