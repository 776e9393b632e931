"""A temporary file of tuples that are read back once, in order."""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BATCH = 1_000
_LENGTH_BYTES = 8


class Spool:
    """Holds more than fits into memory; has no name, and is gone when it is closed.

    The format is Python's ``marshal``, several times faster than JSON. It never leaves the process
    that wrote it.

    Args:
        folder: Where there is room for it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by close()
        self._batch: list[tuple[Any, ...]] = []
        self._n_flushed = 0

    def __len__(self) -> int:
        """Number of tuples."""
        return self._n_flushed + len(self._batch)

    def add(self, values: tuple[Any, ...]) -> None:
        """Append one tuple of strings, numbers, lists and tuples."""
        self._batch.append(tuple(values))
        if len(self._batch) >= _BATCH:
            self._flush()

    def read(self) -> Iterator[tuple[Any, ...]]:
        """All tuples in the order in which they were added; to be called after the last of them."""
        if self._batch:
            self._flush()
        self._file.seek(0)
        while length := self._file.read(_LENGTH_BYTES):
            yield from marshal.loads(self._file.read(int.from_bytes(length, "little")))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _flush(self) -> None:
        content = marshal.dumps(self._batch)
        self._file.write(len(content).to_bytes(_LENGTH_BYTES, "little") + content)
        self._n_flushed += len(self._batch)
        self._batch = []
