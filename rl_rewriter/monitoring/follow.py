"""Records of a log as they are appended, through its rotations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES, from_line
from rl_rewriter.logs.lines import GZIP, PARQUET, magic_of
from rl_rewriter.logs.locked_file import complete_size
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import compressed, rotated_files
from rl_rewriter.logs.schema import Problem, problem_of

_CHUNK = 1 << 16
_NOT_JSON = Problem("not_json", "is no JSON")
_TOO_LONG = Problem("too_long", f"is longer than {MAX_LINE_BYTES} bytes")


class Follower:
    """Reads a log from its first rotated file on, and goes on where it ended.

    Every whole line is handed out once, whether the file is rotated, compressed or deleted in
    between; of a file that was cut short, reading begins again at its start. A compressed file or
    Parquet is read once, since nothing is appended to it.

    Args:
        path: The log's own file; it need not be there yet.
        report: Filled with what was passed over.
    """

    def __init__(self, path: Path, report: ReadReport | None = None) -> None:
        self._path = path
        self._report = ReadReport(warns=False) if report is None else report
        self._known: set[str] = set()
        self._file: BinaryIO | None = None
        self._tail = b""
        self._is_begun = self._is_static = self._is_skipping = False

    def exists(self) -> bool:
        """Whether there is anything to read."""
        return self._path.exists() or bool(rotated_files(self._path))

    def new_records(self) -> Iterator[dict[str, Any]]:
        """All valid records since the last call, in order.

        Raises:
            InputError: The log can't be read.
        """
        try:
            if not self._is_begun:
                self._is_begun = True
                yield from self._begin()
            while not self._is_static:
                self._begin_again_where_cut()
                yield from self._lines()
                if self._is_current():
                    return
                yield from self._lines()  # what was appended before it was renamed
                yield from self._rotated_meanwhile()
                if not self._open():
                    return
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error}") from None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> Iterator[dict[str, Any]]:
        while True:
            before = rotated_files(self._path)
            opened = self._open()
            if rotated_files(self._path) == before or not opened:
                break
            self.close()
        self._known = set(map(_plain_name, before))
        for file in before:
            yield from self._whole(file)
        if self._is_static:
            yield from self._whole(self._path)

    def _whole(self, file: Path) -> Iterator[dict[str, Any]]:
        """All of one file that nothing is appended to; nothing where retention deleted it."""
        for version in (file, compressed(file)):
            if version.exists():
                yield from read_records(version, report=self._report)
                return

    def _open(self) -> bool:
        """Begin the log's own file; False where there is none."""
        with suppress(FileNotFoundError):
            file = self._path.open("rb")
            self._tail, self._is_skipping = b"", False
            self._is_static = magic_of(file).startswith((GZIP, PARQUET))
            if self._is_static:
                file.close()
            else:
                self._file = file
            return True
        return False

    def _is_current(self) -> bool:
        """Whether the open file is the log's own."""
        return self._file is not None and _is_same(self._path, os.fstat(self._file.fileno()))

    def _begin_again_where_cut(self) -> None:
        """A file that is shorter than what was read of it holds other records now."""
        if self._file is not None and os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
            self._tail, self._is_skipping = b"", False

    def _rotated_meanwhile(self) -> Iterator[dict[str, Any]]:
        """Files rotated since; that which was open has been read."""
        here = None if self._file is None else os.fstat(self._file.fileno())
        self.close()
        new = [f for f in rotated_files(self._path) if _plain_name(f) not in self._known]
        self._known |= set(map(_plain_name, new))
        for file in new:
            if here is None or not _was(file, here):
                yield from self._whole(file)

    def _lines(self) -> Iterator[dict[str, Any]]:
        while self._file is not None:
            # Only what stands there while nobody writes: a record may be taken back until then.
            size = complete_size(self._file.fileno())
            left = _CHUNK if size is None else max(0, size - self._file.tell())
            chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                return
            *lines, self._tail = (self._tail + chunk).split(b"\n")
            for line in lines:
                if self._is_skipping:
                    self._is_skipping = False
                else:
                    yield from self._record(line)
            if len(self._tail) > MAX_LINE_BYTES:
                self._report.skip(_TOO_LONG)
                self._tail, self._is_skipping = b"", True

    def _record(self, line: bytes) -> Iterator[dict[str, Any]]:
        if not line.strip():
            return
        self._report.file, self._report.number = str(self._path), self._report.number + 1
        try:
            found = from_line(line)
        except (ValueError, RecursionError):
            self._report.skip(_NOT_JSON)
            return
        problem = problem_of(found)
        if problem is not None:
            self._report.skip(problem)
            return
        self._report.records += 1
        yield found


def _plain_name(file: Path) -> str:
    return file.name.removesuffix(".gz")


def _is_same(file: Path, here: os.stat_result) -> bool:
    with suppress(FileNotFoundError):
        named = file.stat()
        return (named.st_dev, named.st_ino) == (here.st_dev, here.st_ino)
    return False


def _was(file: Path, here: os.stat_result) -> bool:
    """Whether a rotated file is that which was open, compressed or not.

    A compressed file ends with the size of what is in it (RFC 1952).
    """
    if _is_same(file, here):
        return True
    if here.st_nlink or file.suffix != ".gz":
        return False
    with suppress(OSError), file.open("rb") as packed:
        packed.seek(-4, os.SEEK_END)
        return int.from_bytes(packed.read(4), "little") == here.st_size % (1 << 32)
    return False
