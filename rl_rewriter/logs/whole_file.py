"""Files that appear once they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Give a temporary name that takes the place of ``path`` when the block succeeds.

    Args:
        path: The file; its folders are made where they don't exist.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
