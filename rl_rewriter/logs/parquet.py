"""Decision logs as Parquet: typed columns for other tools, and nothing lost on the way back.

Decisions and feedback stand in one table in the order of the log. A column is null where the record
has null. What a column can't hold (a foreign key, a text with half a surrogate pair) stands as JSON
in ``rest``; keys of the format that the record lacks are named in ``absent``. Keys that few
decisions have (``weights`` and the like) are absent where their column is null or, in an older
file, missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.logs.parquet_sizes import THRIFT_LIMITS, oversize
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.schema import problem_of
from rl_rewriter.logs.whole_file import replacing_file
from rl_rewriter.untrusted import parse_json

_BATCH = 2_000
_EXACT = 1 << 53
"""Integers up to here are floats without loss."""


def write_parquet(records: Iterable[Mapping[str, Any]], path: str | Path) -> int:
    """Write records in row groups, in constant memory; the file appears once it is whole.

    Returns:
        Number of records.

    Raises:
        MissingExtraError: pyarrow isn't installed.
    """
    pyarrow, parquet = _pyarrow()
    schema = _arrow_schema(pyarrow)
    iterator, n_records = iter(records), 0
    with (
        replacing_file(Path(path)) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        while batch := [_row(record) for record in islice(iterator, _BATCH)]:
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            n_records += len(batch)
    return n_records


def read_parquet(
    path: str | Path, *, strict: bool = False, report: ReadReport | None = None
) -> Iterator[dict[str, Any]]:
    """Records of a file that :func:`write_parquet` wrote, in constant memory.

    Args:
        path: The file.
        strict: Stop at the first row that is no record.
        report: Filled with what was passed over.

    Raises:
        InputError: The file is damaged or holds another table; or a row is no record and
            ``strict``.
        MissingExtraError: pyarrow isn't installed.
    """
    report = ReadReport() if report is None else report
    report.strict |= strict
    report.file = str(path)
    yield from parquet_records(Path(path), report)


def parquet_records(path: Path, report: ReadReport) -> Iterator[dict[str, Any]]:
    """The same, with the report that the caller reads by."""
    pyarrow, parquet = _pyarrow()
    report.unit, report.number = "row", 0
    schema = _arrow_schema(pyarrow)
    try:
        # pre_buffer would hold on to what was read.
        with parquet.ParquetFile(path, pre_buffer=False, **THRIFT_LIMITS) as file:
            if too_large := oversize(file):
                raise InputError(f"{path} is no decision log: {too_large}")
            held = {*file.schema_arrow.names}
            missing = sorted({*schema.names} - held - {*_RARE})
            if missing:
                raise InputError(f"{path} is no decision log: it has no column {missing[0]!r}")
            names = [name for name in schema.names if name in held]
            schema = pyarrow.schema([schema.field(name) for name in names])
            for batch in file.iter_batches(_BATCH, columns=names):
                table = pyarrow.Table.from_batches([batch]).select(names).cast(schema)
                for row in table.to_pylist():
                    report.number += 1
                    record = _record(row)
                    problem = problem_of(record)
                    if problem is None:
                        report.records += 1
                        yield record
                    else:
                        report.skip(problem)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        message = " ".join(str(error).split())[:200]
        raise InputError(f"{path} can't be read as Parquet: {message}") from None


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "report") from None
    return pyarrow, parquet


def _arrow_schema(pyarrow: Any) -> Any:
    text, number = pyarrow.string(), pyarrow.float64()
    document = pyarrow.struct([("id", text), ("score", number)])
    types = {
        "text": text,
        "json": text,
        "float": number,
        "int": pyarrow.int64(),
        "bool": pyarrow.bool_(),
        "texts": pyarrow.list_(text),
        "floats": pyarrow.list_(number),
        "shares": pyarrow.map_(text, number),
        "named_texts": pyarrow.map_(text, text),
        "documents": pyarrow.list_(document),
    }
    columns = [(name, types[kind]) for name, (kind, _) in _COLUMNS.items()]
    return pyarrow.schema(
        [("type", text), *columns, ("absent", types["texts"]), ("rest", types["json"])]
    )


_Fits = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


def _is_float(value: Any) -> bool:
    return type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT)


def _is_int(value: Any) -> bool:
    return type(value) is int and -_EXACT <= value <= _EXACT


def _are_floats(value: Any) -> bool:
    return type(value) is list and all(map(_is_float, value))


def _are_texts(value: Any) -> bool:
    return type(value) is list and all(text is None or _is_text(text) for text in value)


def _are_shares(value: Any) -> bool:
    return type(value) is dict and all(_is_text(name) and _is_float(p) for name, p in value.items())


def _are_named_texts(value: Any) -> bool:
    return type(value) is dict and all(_is_text(text) for item in value.items() for text in item)


def _are_documents(value: Any) -> bool:
    return type(value) is list and all(
        type(document) is dict
        and document.keys() == {"id", "score"}
        and _is_text(document["id"])
        and (document["score"] is None or _is_float(document["score"]))
        for document in value
    )


_COLUMNS: Mapping[str, tuple[str, _Fits]] = {
    "id": ("text", _is_text),
    "time": ("float", _is_float),
    "query": ("text", _is_text),
    "history_len": ("int", _is_int),
    "action": ("text", _is_text),
    "strength": ("float", _is_float),
    "texts": ("texts", _are_texts),
    "propensity": ("float", _is_float),
    "probabilities": ("shares", _are_shares),
    "state": ("floats", _are_floats),
    "state_schema": ("text", _is_text),
    "policy_version": ("text", _is_text),
    "policy_name": ("text", _is_text),
    "explored": ("bool", lambda value: type(value) is bool),
    "reason": ("text", _is_text),
    "documents": ("documents", _are_documents),
    "latency_ms": ("float", _is_float),
    "cost": ("float", _is_float),
    "tags": ("json", lambda value: type(value) is dict),
    "blends": ("named_texts", _are_named_texts),
    "sigma": ("float", _is_float),
    "weights": ("shares", _are_shares),
    "log_density": ("float", _is_float),
    "decision_id": ("text", _is_text),
    "kind": ("text", _is_text),
    "value": ("float", _is_float),
    "position": ("int", _is_int),
    "document_id": ("text", _is_text),
}
_FEEDBACK = ("decision_id", "time", "kind", "value", "position", "document_id")
_RARE = ("blends", "sigma", "weights", "log_density")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "decision": tuple(name for name in _COLUMNS if name == "time" or name not in _FEEDBACK),
    "feedback": _FEEDBACK,
}


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A valid record as a row of the table."""
    keys = _KEYS[record["type"]]
    row: dict[str, Any] = {"type": record["type"]}
    rest: dict[str, Any] = {}
    for key, value in record.items():
        if key in keys:
            kind, fits = _COLUMNS[key]
            if fits(value) if key in _RARE else value is None or fits(value):
                row[key] = _stored(kind, value)
            else:
                rest[key] = value
        elif key not in ("type", "schema"):
            rest[key] = value
    absent = [key for key in keys if key not in record and key not in _RARE]
    return {**row, "absent": absent or None, "rest": json.dumps(rest) if rest else None}


def _stored(kind: str, value: Any) -> Any:
    if kind == "json" and value is not None:
        return json.dumps(value)
    if kind in ("shares", "named_texts") and value is not None:
        return list(value.items())
    return value


def _record(row: dict[str, Any]) -> Any:
    """The record that a row was made of."""
    keys = _KEYS.get(row["type"], ())
    absent = set(row["absent"] or ())
    record: dict[str, Any] = {"schema": 1, "type": row["type"]}
    absent |= {key for key in _RARE if row.get(key) is None}
    record |= {key: row[key] for key in keys if key not in absent}
    try:
        if record.get("tags") is not None:
            record["tags"] = parse_json(record["tags"].encode())
        for key in ("probabilities", "blends", "weights"):
            if record.get(key) is not None:
                record[key] = dict(record[key])
        return record | parse_json((row["rest"] or "{}").encode())
    except (ValueError, TypeError, AttributeError):
        return "JSON that can't be read"
