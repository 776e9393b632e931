"""The values of each held-out query, from Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError, MissingExtraError

Column = npt.NDArray[np.float64]

TEXTS = ("query_id", "query", "group", "kind", "action", "text")
NUMBERS = (
    "history_len",
    "fold",
    "action_probability",
    "keep",
    "best_fixed",
    "policy",
    "oracle",
    "random",
    "predicted_gain",
    "searches",
    "embedded",
    "llm_calls",
)


@dataclass(frozen=True, eq=False)
class PerQuery:
    """Columns of the same length, those that the file has.

    Attributes:
        texts: Columns of text; what is null in the file is empty.
        numbers: Columns ``(n,)``; NaN where there is none.
        n: Queries.
    """

    texts: Mapping[str, list[str]]
    numbers: Mapping[str, Column]
    n: int

    @property
    def gains(self) -> Column | None:
        """Policy less keep, ``(n,)``."""
        if "policy" not in self.numbers or "keep" not in self.numbers:
            return None
        return self.numbers["policy"] - self.numbers["keep"]


def read_per_query(path: Path) -> PerQuery | None:
    """Read the columns that the report knows; None where there is no file.

    Raises:
        InputError: The file is no Parquet, or a column holds something else than it should.
        MissingExtraError: pyarrow isn't installed.
    """
    if not path.is_file():
        return None
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    try:
        # Of the open file: a path would be read as a data set, partitions in folder names and all.
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
        return PerQuery(
            {name: _texts(table, name, path) for name in TEXTS if name in table.column_names},
            {name: _numbers(table, name, path) for name in NUMBERS if name in table.column_names},
            table.num_rows,
        )
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is no readable Parquet file: {error}") from None


def _texts(table: Any, name: str, path: Path) -> list[str]:
    import pyarrow

    column = table.column(name)
    try:
        return [value or "" for value in column.cast(pyarrow.large_string()).to_pylist()]
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, UnicodeDecodeError):
        raise _wrong(path, name, "text", column) from None


def _numbers(table: Any, name: str, path: Path) -> Column:
    from pyarrow import types

    column = table.column(name)
    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
        raise _wrong(path, name, "numbers", column)
    values = np.array([np.nan if v is None else v for v in column.to_pylist()], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InputError(f"{path}: column {name!r} is infinite in row {infinite[0] + 1}")
    return values


def _wrong(path: Path, name: str, wanted: str, column: Any) -> InputError:
    return InputError(f"{path}: column {name!r} must hold {wanted}, got {column.type}")
