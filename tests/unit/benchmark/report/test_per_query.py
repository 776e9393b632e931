"""Values of each query from Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from rl_rewriter.benchmark.report.per_query import PerQuery, read_per_query
from rl_rewriter.errors import InputError


def written(folder: Path, **columns: Any) -> Path:
    path = folder / "per_query.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def read(folder: Path, **columns: Any) -> PerQuery:
    found = read_per_query(written(folder, **columns))
    assert found is not None
    return found


def test_columns_that_the_report_knows_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, query=["a", None], keep=[0.25, 0.5], policy=[0.5, None], other=[1, 2])
    assert found.n == 2
    assert found.texts == {"query": ["a", ""]}
    assert set(found.numbers) == {"keep", "policy"}
    assert found.gains is not None
    np.testing.assert_array_equal(found.gains, [0.25, np.nan])


def test_there_are_no_gains_without_both_columns(tmp_path: Path) -> None:
    assert read(tmp_path, query=["a"], keep=[0.5]).gains is None


def test_dictionary_columns_and_numeric_ids_are_text(tmp_path: Path) -> None:
    action = pyarrow.array(["keep", "move", "keep"]).dictionary_encode()
    found = read(tmp_path, query_id=[7, 8, 9], action=action)
    assert found.texts == {"query_id": ["7", "8", "9"], "action": ["keep", "move", "keep"]}


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert read_per_query(tmp_path / "per_query.parquet") is None


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "per_query.parquet"
    for content in (b"", b"query,keep\n", b"PAR1" + bytes(50) + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{path} is no readable Parquet file"):
            read_per_query(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"keep": ["high"]}, "column 'keep' must hold numbers, got string"),
        ({"keep": [True]}, "column 'keep' must hold numbers, got bool"),
        ({"keep": [[0.5]]}, "column 'keep' must hold numbers, got list"),
        ({"query": [[0.5]]}, "column 'query' must hold text, got list"),
        ({"query": [b"\xff"]}, "column 'query' must hold text, got binary"),
        ({"keep": [0.5, float("inf")]}, "column 'keep' is infinite in row 2"),
    ],
)
def test_a_column_of_another_type_is_named(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    path = written(tmp_path, **columns)
    with pytest.raises(InputError) as caught:
        read_per_query(path)
    assert str(caught.value).startswith(f"{path}: {message}")
