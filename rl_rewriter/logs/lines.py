"""Lines of log files one by one, however long they are and whatever the file is."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import MAX_LINE_BYTES
from rl_rewriter.logs.locked_file import complete_size
from rl_rewriter.logs.rotation import compressed, rotated_files

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
TOO_LONG = b""
"""Stands for a line over ``MAX_LINE_BYTES``, which is never held in memory."""

MAX_RATIO = 500
"""A gzip file that unpacks to more is no log: records differ, and shrink to a thirtieth at best."""

_CHUNK = 1 << 20
_PIECE = 1 << 16
_MAX_FREE = 1 << 17
"""Up to here any ratio is fine."""
_MARK = b"\xef\xbb\xbf"
_TRIES = 10


class DamagedFileError(Exception):
    """A compressed file that can't be read to its end."""


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """All lines with their newlines, ``TOO_LONG`` for each that is.

    Of a file that is being appended to, those that were whole when reading began.

    Raises:
        DamagedFileError: The file is compressed, and truncated, damaged, or unpacks to far more
            than any log does.
    """
    is_packed = magic_of(file).startswith(GZIP)
    size = None if is_packed or not file.seekable() else complete_size(file.fileno())
    source = unpacking(file) if is_packed else file
    try:
        yield from _bounded(source, size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(str(error)) from None


def unpacking(file: BinaryIO) -> BinaryIO:
    """The content of a gzip file, up to where it grows beyond ``MAX_RATIO``.

    Reading raises :class:`DamagedFileError` there.
    """
    return cast(BinaryIO, io.BufferedReader(_Unpacked(file), _CHUNK))


class _Unpacked(io.RawIOBase):
    """Members of a gzip file, unpacked with an eye on how much comes of how little.

    ``gzip.GzipFile`` reads ahead, so that a bomb has grown before the two can be compared.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._member: Any = None
        self._packed = b""
        self._n_read = self._n_unpacked = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Unpack a piece."""
        content = b""
        while not content and self._in_a_member():
            content = self._member.decompress(self._packed, min(len(buffer), _PIECE))
            self._packed = self._member.unconsumed_tail
            if self._member.eof:
                self._packed, self._member = self._member.unused_data, None
        self._n_unpacked += len(content)
        used = self._n_read - len(self._packed)
        if self._n_unpacked > max(_MAX_FREE, MAX_RATIO * used):
            raise DamagedFileError(f"it unpacks to more than {MAX_RATIO} times its size")
        buffer[: len(content)] = content
        return len(content)

    def _in_a_member(self) -> bool:
        """Have something to unpack; False where the file has ended after a member."""
        if self._member is None:
            while not self._packed.strip(b"\0"):  # members may be followed by zeros
                if not self._read_on():
                    return False
            self._packed = self._packed.lstrip(b"\0")
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif not self._packed and not self._read_on():
            raise EOFError("it ends in the middle")
        return True

    def _read_on(self) -> bool:
        self._packed = self._file.read(_PIECE)
        self._n_read += len(self._packed)
        return bool(self._packed)


def magic_of(file: BinaryIO) -> bytes:
    """The first bytes of a file, left to be read again; nothing of a pipe."""
    if not file.seekable():
        return b""
    start = file.read(len(PARQUET))
    file.seek(0)
    return start


def _bounded(file: BinaryIO, size: int | None) -> Iterator[bytes]:
    done, is_first = 0, True
    while size is None or done < size:
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        done += len(line)
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK)
                done += len(line)
            line = TOO_LONG
        elif is_first:
            line = line.removeprefix(_MARK) or b"\n"
        is_first = False
        yield line


@contextmanager
def opened(path: Path) -> Iterator[Iterator[tuple[Path, BinaryIO]]]:
    """The files of a log, rotated ones first, oldest first, as they stood at one moment.

    Each is open until the next is asked for. Where a rotated file was compressed meanwhile, that
    is opened; where retention deleted it, it is passed over.

    Raises:
        InputError: There is no such log, or it can't be opened.
    """
    rotated, live = _at_one_moment(path)
    if live is None and not rotated:
        raise InputError(f"there is no decision log at {path}")
    try:
        yield _one_by_one(rotated, path, live)
    finally:
        if live is not None:
            live.close()


def _one_by_one(
    rotated: list[Path], path: Path, live: BinaryIO | None
) -> Iterator[tuple[Path, BinaryIO]]:
    for file in rotated:
        for version in (file, compressed(file)):
            source = _open(version)
            if source is not None:
                with source:
                    yield version, source
                break
    if live is not None:
        yield path, live


def _at_one_moment(path: Path) -> tuple[list[Path], BinaryIO | None]:
    """Rotated files and the open live one, with no rotation between looking at the two."""
    tries = _TRIES
    while True:
        tries -= 1
        before = rotated_files(path)
        live = _open(path)
        after = rotated_files(path)
        if _newest(before) == _newest(after) or not tries:
            return after, live
        if live is not None:
            live.close()


def _newest(files: list[Path]) -> str:
    return files[-1].name.removesuffix(".gz") if files else ""


def _open(path: Path) -> BinaryIO | None:
    try:
        file = path.open("rb", buffering=_CHUNK)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name the log file itself") from None
    except OSError as error:
        raise InputError(f"{path} can't be opened: {os.strerror(error.errno or 0)}") from None
    except ValueError as error:  # a path with a null character
        raise InputError(f"{str(path)!r} can't be opened: {error}") from None
    kind = os.fstat(file.fileno()).st_mode
    if (stat.S_ISCHR(kind) and not file.isatty()) or stat.S_ISBLK(kind):
        file.close()
        raise InputError(f"{path} is a device, which may have no end; name a file or a pipe")
    return file
