"""Rows of tables: Parquet through pyarrow, CSV through the standard library."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from rl_rewriter.errors import MissingExtraError
from rl_rewriter.logs.importers.unusable import UnusableFileError
from rl_rewriter.logs.parquet_sizes import THRIFT_LIMITS, oversize

TableRow = tuple[int, Mapping[str, Any] | None, str]
"""Number from 1, the row as column -> value without the empty cells, and what is wrong with it."""

_BATCH_ROWS = 2_000
_MAX_CELLS = 100_000


def parquet_rows(path: Path) -> Iterator[TableRow]:
    """Rows of a Parquet file, batch by batch.

    Raises:
        UnusableFileError: The file is damaged.
        MissingExtraError: pyarrow isn't installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    number = 0
    try:
        with parquet.ParquetFile(path, **THRIFT_LIMITS) as file:
            if too_large := oversize(file):
                raise UnusableFileError(f"{path} can't be read: {too_large}")
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    number += 1
                    yield number, _filled(row), ""
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        message = " ".join(str(error).split())[:200]
        raise UnusableFileError(
            f"{path} is a damaged Parquet file, read to row {number}: {message}"
        ) from None


def csv_rows(path: Path, file: IO[bytes], max_row_bytes: int) -> Iterator[TableRow]:
    """Rows of a CSV file with a header; one that can't be read is given with the problem.

    Args:
        path: Its name, for messages.
        file: Its content, from the start.
        max_row_bytes: A longer cell is a problem.

    Raises:
        UnusableFileError: The first line names no columns.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    before = csv.field_size_limit(max_row_bytes)
    try:
        reader = csv.reader(_lines(path, text, max_row_bytes), strict=True)
        header = _header(path, reader)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield line, None, f"isn't CSV ({error})"
                continue
            if len(cells) == len(header):
                yield line, _filled(dict(zip(header, cells, strict=True))), ""
            elif cells:
                yield line, None, f"has {len(cells)} cells where the header has {len(header)}"
    finally:
        csv.field_size_limit(before)
        text.detach()


def _lines(path: Path, text: io.TextIOWrapper, max_row_bytes: int) -> Iterator[str]:
    """Lines that hold no more cells than memory can."""
    while line := text.readline(max_row_bytes + 1):
        if len(line) > _MAX_CELLS and line.count(",") > _MAX_CELLS:
            raise UnusableFileError(f"{path} has a line of more than {_MAX_CELLS:,} cells")
        yield line


def _header(path: Path, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = next(reader, [])
    except csv.Error:
        header = []
    if len(header) < 2 or len(set(header)) != len(header):
        raise UnusableFileError(
            f"{path} line 1 must name the columns of the CSV, got {', '.join(header)!r:.80}"
        )
    return header


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None and value != ""}
