"""Parquet that unpacks to far more than it is gets refused before it is unpacked."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs
from rl_rewriter.logs.store import read_records


def bomb(path: Path, column: pa.Array) -> Path:
    parquet.write_table(pa.table({"a": column, "b": [1]}), path, compression="zstd")
    assert path.stat().st_size < 1 << 20
    return path


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (pa.array(["a" * (70 << 20)]), "unpacks to more than 500 times its size"),
        (pa.array([[False] * 1_200_000]), "more than 10,000 values in a row"),
    ],
    ids=["one long text", "one long list"],
)
def test_bombs_are_refused_by_their_description(
    tmp_path: Path, column: pa.Array, problem: str
) -> None:
    path = bomb(tmp_path / "bomb.parquet", column)
    with pytest.raises(InputError, match=problem):
        list(read_records(path))
    with pytest.raises(InputError, match=problem):
        import_logs([path], tmp_path / "log.jsonl", ImportConfig(tool="otel"))
