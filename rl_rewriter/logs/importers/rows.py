"""Rows of an export file, one at a time: JSON lines, a JSON array, Parquet or CSV, also gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers.json_rows import json_rows
from rl_rewriter.logs.importers.table_rows import csv_rows, parquet_rows
from rl_rewriter.logs.importers.unusable import UnusableFileError
from rl_rewriter.logs.lines import GZIP, PARQUET, DamagedFileError, unpacking
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.schema import Problem

MAX_ROW_BYTES = 32 * 1024 * 1024
"""A longer row is reported and passed over: nothing that a tool exports is that long."""
UNREADABLE = "row that can't be read"

_REFUSED = {
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: unpack it first (gzip is read as it is)",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8",
}
_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".csv", ".gz"})
_TOLD_EVERY = 1_000


def files_of(path: Path) -> list[Path]:
    """The file itself, or the export files in a folder and below, by name.

    Raises:
        InputError: There is nothing to read.
    """
    if path.is_dir():
        files = sorted(f for f in path.rglob("*") if f.suffix in _SUFFIXES and f.is_file())
        if not files:
            names = ", ".join(sorted(_SUFFIXES))
            raise InputError(f"{path} holds no export: no file that ends in {names}")
        return files
    if not path.exists():
        raise InputError(f"there is no file {path}")
    return [path]


def read_rows(path: Path, report: ReadReport) -> Iterator[Mapping[str, Any]]:
    """All rows in order, in memory for one row (of a table: for one batch).

    A row that can't be read is passed over with a problem in the report, and so is the rest of a
    file that breaks off.

    Args:
        path: The file.
        report: Filled with problems, and with where the reader stands.

    Raises:
        InputError: There is a problem, and the report is strict.
        MissingExtraError: The file is Parquet, and pyarrow isn't installed.
    """
    report.file, report.unit, report.number = str(path), "line", 0
    try:
        with _opened(path) as (start, file, raw):
            if start.startswith(PARQUET):
                report.unit, found = "row", parquet_rows(path)
            elif path.name.removesuffix(".gz").endswith(".csv"):
                found = csv_rows(path, file, MAX_ROW_BYTES)
            else:
                found = json_rows(file, MAX_ROW_BYTES)
            size = path.stat().st_size
            for count, (report.number, value, problem) in enumerate(found):
                if value is None:
                    report.skip(Problem(UNREADABLE, problem))
                else:
                    yield value
                if report.on_progress is not None and not count % _TOLD_EVERY:
                    report.on_progress(path.name, raw.tell(), size)
    except (gzip.BadGzipFile, EOFError, zlib.error, DamagedFileError) as error:
        _broken(report, f"{path} is a damaged gzip file, read to line {report.number}: {error}")
    except UnusableFileError as error:
        _broken(report, str(error))


def _broken(report: ReadReport, sentence: str) -> None:
    report.skipped["rest of a damaged file"] += 1
    report.tell(sentence, "the rest was skipped")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[bytes, IO[bytes], IO[bytes]]]:
    """The first bytes, the content (unpacked where it is gzipped), and the file itself."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"{path} can't be opened: {error.strerror}") from None
    with raw:
        start = raw.read(4096)
        raw.seek(0)
        if start.startswith(GZIP):
            with unpacking(raw) as unpacked:
                yield b"", unpacked, raw
            return
        if problem := _refusal(start):
            raise UnusableFileError(f"{path} {problem}")
        yield start, raw, raw


def _refusal(start: bytes) -> str:
    """Why a file that begins like this is no export; "" where it may be one."""
    if not start:
        return "is empty"
    for magic, problem in _REFUSED.items():
        if start.startswith(magic):
            return problem
    if b"\x00" in start and not start.startswith(PARQUET):
        return "isn't text: expected JSON lines, a JSON array, CSV or Parquet"
    return ""
