"""Folders and files that are written as a whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


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


def write_json(path: Path, value: Any) -> None:
    """Write JSON, as a whole."""
    # Lone surrogates, which queries may hold, have no UTF-8; JSON's escapes stand for them.
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole: under another name first, then renamed."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
