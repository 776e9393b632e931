"""The records that have been added to a decision log since it was last looked at."""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES, from_line
from rl_rewriter.logs.lines import GZIP, PARQUET, DamagedFileError, magic_of, opened, unpacking
from rl_rewriter.logs.locked_file import complete_size
from rl_rewriter.logs.schema import problem_of

_CHUNK = 1 << 20
_logger = logging.getLogger(__name__)


class LogTail:
    """Reads each record of a log once, through its rotations and their compression.

    A file is known again by its first line, whatever its name has become. A line that isn't whole
    yet is left for the next time; one that is no record is passed over and counted.

    Args:
        path: The log's own file.

    Attributes:
        skipped: Lines that were no records.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.skipped = 0
        self._offsets: dict[bytes, int] = {}
        self._finished: set[str] = set()

    def new_records(self) -> Iterator[dict[str, Any]]:
        """Records since the last call, in order; all of them at the first.

        Raises:
            InputError: There is no such log, it can't be read, or it is a Parquet file.
        """
        with opened(self.path) as files:
            for name, file in files:
                rotation = name.name.removesuffix(".gz")
                if rotation in self._finished:
                    continue
                try:
                    yield from self._records_of(file)
                except (EOFError, zlib.error, gzip.BadGzipFile, DamagedFileError) as error:
                    _logger.warning("%s can't be unpacked to its end: %s", name, error)
                except OSError as error:
                    raise InputError(f"{name} can't be read: {error}") from None
                if name != self.path:
                    self._finished.add(rotation)

    def _records_of(self, file: BinaryIO) -> Iterator[dict[str, Any]]:
        magic = magic_of(file)
        if magic == PARQUET:
            raise InputError(f"{self.path} is a Parquet file; watch a log that is being written")
        is_packed = magic.startswith(GZIP)
        size = None if is_packed else complete_size(file.fileno())
        source = unpacking(file) if is_packed else file
        first = next(_whole_lines(source, 0, size), b"")
        if not first:
            return
        name = hashlib.blake2b(first, digest_size=16).digest()
        place = self._offsets.get(name, 0)
        _pass_over(source, place - len(first))
        rest = _whole_lines(source, max(place, len(first)), size)
        for line in rest if place else chain((first,), rest):
            self._offsets[name] = place = place + len(line)
            record = self._parsed(line)
            if record is not None:
                yield record

    def _parsed(self, line: bytes) -> dict[str, Any] | None:
        try:
            found = from_line(line) if len(line) <= MAX_LINE_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if found is None or problem_of(found) is not None:
            self.skipped += bool(line.strip())
            return None
        record: dict[str, Any] = found
        return record


def _pass_over(file: BinaryIO, n: int) -> None:
    """Go on behind the next ``n`` bytes."""
    if file.seekable():
        file.seek(max(n, 0), os.SEEK_CUR)
        return
    while n > 0:
        piece = file.read(min(n, _CHUNK))
        if not piece:
            return
        n -= len(piece)


def _whole_lines(file: BinaryIO, place: int, size: int | None) -> Iterator[bytes]:
    """Lines that end with a newline, of those that were there when reading began.

    Of a line that is too long more than one piece is given, so that none is held in memory.
    """
    while size is None or place < size:
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
            return
        place += len(line)
        yield line
