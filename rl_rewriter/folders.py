"""Folders that are written as a whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``folder`` when the block succeeds.

    Where the block or the exchange fails, what stood there before still stands.

    Args:
        folder: The folder to write; made with its parents where it doesn't exist.
    """
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    replaced = temporary.with_name(f"{temporary.name}-old")
    try:
        temporary.chmod(0o755)
        yield temporary
        with suppress(FileNotFoundError):
            folder.rename(replaced)
        try:
            temporary.rename(folder)
        except OSError:
            if replaced.exists():
                replaced.rename(folder)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
