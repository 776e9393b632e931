"""Records of a log as they are appended, each once, whatever becomes of its files."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES
from rl_rewriter.logs.lines import GZIP, PARQUET, TOO_LONG, opened
from rl_rewriter.logs.locked_file import complete_size
from rl_rewriter.logs.reader import parsed, read_records
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import compressed, rotated_files
from rl_rewriter.logs.schema import Problem, problem_of

_CHUNK = 1 << 16
_HEAD_BYTES = 256
"""A record begins with its type, id and time: enough to know a file by."""


class Follower:
    """Reads a log from its first rotated file on, and goes on where it ended.

    Every whole line is handed out once, whether the file is rotated, compressed, deleted, or
    replaced by a copy of itself in between; where other records stand in its place, reading begins
    again at its start. A line that isn't whole yet is left for the next time. Whoever stops in the
    middle goes on with the next record. A compressed file or Parquet is read once, since nothing is
    appended to it. The file that is open is let go with this object.

    Args:
        path: The log's own file; it need not be there yet.
        report: Filled with what was passed over.
    """

    def __init__(self, path: str | Path, report: ReadReport | None = None) -> None:
        self._path = Path(path)
        self._report = ReadReport(warns=False) if report is None else report
        self._known: set[str] = set()
        self._finished: deque[Path] = deque()
        self._n_of_first = 0
        self._handle: int | None = None
        self._closing: weakref.finalize[..., Follower] | None = None
        self._head, self._is_begun, self._is_static = b"", False, False
        self._begin_at(0)

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
                self._begin()
            yield from self._records_of_finished()
            while not self._is_static:
                self._begin_again_where_changed()
                yield from self._lines()
                if self._is_current():
                    return
                yield from self._lines()  # what was appended before it was renamed
                self._let_go()
                yield from self._records_of_finished()
                if not self._open():
                    return
            yield from self._records_of_finished()
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error}") from None

    def close(self) -> None:
        """Let go of the file."""
        if self._closing is not None:
            self._closing()
        self._handle = self._closing = None

    def _begin(self) -> None:
        """Find the rotated files and open the log, with no rotation between the two."""
        if self.exists():
            with opened(self._path):  # which refuses what is no file
                pass
        while True:
            before = rotated_files(self._path)
            is_there = self._open()
            if rotated_files(self._path) == before or not is_there:
                break
            self.close()
        self._known = set(map(_plain_name, before))
        self._finished = deque(before)
        if self._is_static:
            self._finished.append(self._path)
        self._is_begun = True

    def _open(self) -> bool:
        """Open the log's own file; False where there is none."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._is_static = False
            return False
        self._is_static = os.pread(handle, len(PARQUET), 0).startswith((GZIP, PARQUET))
        if self._is_static:
            os.close(handle)
            if self._is_begun:
                self._finished.append(self._path)
            return True
        self._handle = handle
        self._closing = weakref.finalize(self, os.close, handle)
        self._closing.atexit = False
        is_a_copy = self._head and os.fstat(handle).st_size >= self._place and self._stands_here()
        self._begin_at(self._place if is_a_copy else 0)
        return True

    def _begin_at(self, place: int) -> None:
        """Read on behind so many bytes of whole lines."""
        self._place = self._read = place
        self._is_skipping = False
        self._begin_line(b"")
        self._ready: deque[bytes] = deque()
        if not place:
            self._head = b""

    def _stands_here(self) -> bool:
        """Whether the open file begins as that which was read."""
        assert self._handle is not None
        return os.pread(self._handle, len(self._head), 0) == self._head

    def _is_current(self) -> bool:
        """Whether the open file is the log's own."""
        return self._handle is not None and _is_same(self._path, os.fstat(self._handle))

    def _begin_again_where_changed(self) -> None:
        """A file that is shorter than what was read, or begins otherwise, holds other records."""
        if self._handle is None:
            return
        is_cut = os.fstat(self._handle).st_size < self._read
        if is_cut or not self._stands_here():
            self._begin_at(0)

    def _let_go(self) -> None:
        """Close what isn't the log's own file any more; what else was rotated is to be read."""
        here = None if self._handle is None else os.fstat(self._handle)
        self.close()
        new = [f for f in rotated_files(self._path) if _plain_name(f) not in self._known]
        self._known |= set(map(_plain_name, new))
        others = [file for file in new if here is None or not _was(file, here)]
        if len(others) < len(new):
            self._head = b""  # it goes on under another name: the next one is no copy of it
        self._finished.extend(others)

    def _records_of_finished(self) -> Iterator[dict[str, Any]]:
        """All of the files that nothing is appended to."""
        while self._finished:
            for record in islice(self._whole(self._finished[0]), self._n_of_first, None):
                self._n_of_first += 1
                yield record
            self._finished.popleft()
            self._n_of_first = 0

    def _whole(self, file: Path) -> Iterator[dict[str, Any]]:
        """All of one such file; nothing where retention deleted it."""
        for version in (file, compressed(file)):
            if version.exists():
                try:
                    yield from read_records(version, report=self._report)
                except InputError:
                    if version.exists():
                        raise
                    continue  # compressed or deleted meanwhile
                return

    def _lines(self) -> Iterator[dict[str, Any]]:
        while True:
            while self._ready:
                line = self._ready.popleft()
                self._place += len(line)
                if self._is_skipping:
                    self._is_skipping = False
                else:
                    yield from self._record(line)
            if not self._read_on():
                return

    def _read_on(self) -> bool:
        """Take in whole lines; False where there is nothing new."""
        if self._handle is None:
            return False
        if len(self._head) < _HEAD_BYTES:
            self._head = os.pread(self._handle, min(_HEAD_BYTES, self._place), 0)
        # Only what stands there while nobody writes: a record may be taken back until then.
        size = complete_size(self._handle)
        left = _CHUNK if size is None else max(0, size - self._read)
        # By its place: a forked process shares the position of the file.
        chunk = os.pread(self._handle, min(left, _CHUNK), self._read)
        self._read += len(chunk)
        ends, newline, rest = chunk.rpartition(b"\n")
        if newline:
            lines = b"".join([*self._tail, ends]).split(b"\n")
            self._ready.extend(line + b"\n" for line in lines)
            self._begin_line(rest)
        else:
            self._tail.append(rest)
            self._n_tail += len(rest)
        if self._n_tail > MAX_LINE_BYTES:
            if not self._is_skipping:
                self._report.skip(parsed(TOO_LONG))
            self._place += self._n_tail
            self._is_skipping = True
            self._begin_line(b"")
        return bool(chunk)

    def _begin_line(self, piece: bytes) -> None:
        """Keep the pieces of a line that isn't whole yet, beginning with this one."""
        self._tail = [piece]
        self._n_tail = len(piece)

    def _record(self, line: bytes) -> Iterator[dict[str, Any]]:
        if not line.strip():
            return
        self._report.file, self._report.number = str(self._path), self._report.number + 1
        found = parsed(line if len(line) <= MAX_LINE_BYTES else TOO_LONG)
        problem = found if type(found) is Problem else problem_of(found)
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
