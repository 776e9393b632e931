"""Writes records as files of their own, and turns one form of a log into another."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import to_line
from rl_rewriter.logs.parquet import write_parquet
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import rotated_files
from rl_rewriter.logs.whole_file import replacing_file
from rl_rewriter.logs.window import Window, index_of, within
from rl_rewriter.types import OnProgress

_CHUNK = 1 << 20


def write_records(records: Iterable[Mapping[str, Any]], path: str | Path) -> int:
    """Write a whole log at once; the form follows the name: ``.parquet``, ``.gz``, else JSON lines.

    The file appears, or takes the place of the one that stood there, once it is whole. For writing
    a record at a time, from several threads and processes, there is
    :class:`rl_rewriter.logs.store.DecisionLog`.

    Returns:
        Number of records.

    Raises:
        InputError: A record can't be written; or rotated files of an earlier log stand beside the
            path, which would be read with it.
        MissingExtraError: Parquet is asked for and pyarrow isn't installed.
    """
    path = Path(path)
    beside = rotated_files(path)
    if beside:
        raise InputError(f"{beside[0]} would be read as part of {path}; give another name")
    if path.suffix == ".parquet":
        return write_parquet(records, path)
    n_records = 0
    with replacing_file(path) as temporary, temporary.open("wb", buffering=_CHUNK) as file:
        packed = gzip.GzipFile("", "wb", fileobj=file) if path.suffix == ".gz" else None
        target = file if packed is None else cast(BinaryIO, packed)
        for record in records:
            target.write(to_line(record))
            n_records += 1
        if packed is not None:
            packed.close()
    return n_records


def convert(
    source: str | Path,
    out: str | Path,
    *,
    strict: bool = False,
    window: Window | None = None,
    on_progress: OnProgress | None = None,
) -> ReadReport:
    """Write the records of a log, its rotated files included, in the form that a name asks for.

    A part of a log is read twice: feedback is wanted with its decision, which may come later.

    Args:
        source: The log's file.
        out: ``.parquet``, ``.gz`` or any other name for JSON lines.
        strict: Stop at the first line that is no record, and write nothing.
        window: Decisions of this time alone, with their feedback; all records by default.
        on_progress: Called with stage, done, total.

    Returns:
        How many records were written, and what was passed over.

    Raises:
        InputError: As for :func:`read_records` and :func:`write_records`; or both are one file.
    """
    if Path(out).exists() and Path(source).exists() and Path(out).samefile(source):
        raise InputError(f"{out} is the log itself; give another name")
    report = ReadReport(on_progress=on_progress)
    records: Iterable[Mapping[str, Any]] = read_records(source, strict=strict, report=report)
    if window is not None:
        first = read_records(source, strict=strict, report=ReadReport(warns=False))
        records = within(records, index_of(first, window))
    report.records = write_records(records, out)
    return report
