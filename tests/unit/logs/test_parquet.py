"""Parquet and back: nothing is lost, and other people's tables are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import convert, write_records
from rl_rewriter.logs.parquet import read_parquet, write_parquet
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.schema import problem_of
from tests.logged import decision, feedback, write_lines

TEXTS = st.text(st.characters(codec=None), max_size=8)  # half surrogate pairs included
NAMES = st.text(st.characters(codec=None), min_size=1, max_size=8)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**63 - 1),
    st.just(-0.0),
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PROBABILITIES = st.floats(0, 1) | st.integers(0, 2**63 - 1)
DECISIONS = st.fixed_dictionaries(
    {
        "schema": st.just(1),
        "type": st.just("decision"),
        "id": NAMES,
        "time": NUMBERS,
        "action": NAMES,
    },
    optional={
        "query": st.none() | TEXTS,
        "history_len": JSON,
        "strength": st.none() | NUMBERS,
        "texts": st.none() | st.lists(st.none() | TEXTS, max_size=3),
        "propensity": st.none() | st.floats(1e-300, 1),
        "probabilities": st.none() | st.dictionaries(TEXTS, PROBABILITIES, max_size=4),
        "state": st.none() | st.lists(st.floats(-1e300, 1e300) | st.integers(-9, 9), max_size=5),
        "state_schema": st.none() | TEXTS,
        "policy_name": st.none() | TEXTS,
        "policy_version": st.none() | TEXTS,
        "explored": JSON,
        "reason": st.none() | TEXTS,
        "documents": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {"id": TEXTS}, optional={"score": st.none() | NUMBERS, "x": JSON}
            ),
            max_size=3,
        ),
        "latency_ms": JSON,
        "cost": st.none() | NUMBERS,
        "tags": st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
        "blends": st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
        "sigma": st.none() | st.floats(1e-300, 1) | st.integers(1, 2**63 - 1),
        "weights": st.none() | st.dictionaries(TEXTS, PROBABILITIES, max_size=4),
        "log_density": st.none() | NUMBERS,
        "kind": JSON,
        "rest": JSON,
        "foreign": JSON,
    },
)
FEEDBACK = st.fixed_dictionaries(
    {
        "schema": st.just(1),
        "type": st.just("feedback"),
        "decision_id": NAMES,
        "time": NUMBERS,
        "kind": NAMES,
        "value": NUMBERS,
    },
    optional={
        "position": st.none() | st.integers(0, 2**31 - 1),
        "document_id": st.none() | TEXTS,
        "action": JSON,
        "absent": JSON,
        "weights": JSON,
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(DECISIONS | FEEDBACK, max_size=4))
def test_both_ways_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    records = [record for record in records if problem_of(record) is None]
    assert write_records(records, folder / "log.jsonl") == len(records)
    convert(folder / "log.jsonl", folder / "log.parquet", strict=True)
    assert list(read_parquet(folder / "log.parquet", strict=True)) == records
    convert(folder / "log.parquet", folder / "back.jsonl.gz", strict=True)
    assert list(read_records(folder / "back.jsonl.gz", strict=True)) == records


def test_columns_are_typed_for_other_tools(tmp_path: Path) -> None:
    write_parquet([decision("1"), feedback("1")], tmp_path / "log.parquet")
    table = parquet.read_table(tmp_path / "log.parquet")
    assert table["type"].to_pylist() == ["decision", "feedback"]
    assert table["probabilities"].to_pylist()[0] == list(decision()["probabilities"].items())
    assert table["state"].to_pylist() == [[0.25, -1.0], None]
    assert table["documents"].to_pylist()[0] == decision()["documents"]
    assert table["value"].to_pylist() == [None, 1.0]
    assert table["rest"].null_count == table["absent"].null_count == 2


def test_a_table_from_before_weights_were_drawn_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet([decision("1"), feedback("1")], path)
    table = parquet.read_table(path)
    older = table.drop_columns(["blends", "sigma", "weights", "log_density"])
    parquet.write_table(older, path)
    assert list(read_records(path)) == [decision("1"), feedback("1")]


def test_many_row_groups_keep_the_order(tmp_path: Path) -> None:
    n = 12_001
    path = tmp_path / "log.parquet"
    assert write_parquet((feedback(str(number)) for number in range(n)), path) == n
    assert parquet.ParquetFile(path).num_row_groups == 7
    assert [r["decision_id"] for r in read_records(path)] == [str(number) for number in range(n)]


def test_an_empty_log_is_an_empty_table(tmp_path: Path) -> None:
    assert write_parquet([], tmp_path / "log.parquet") == 0
    assert list(read_parquet(tmp_path / "log.parquet")) == []


def test_a_row_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet([decision("1"), feedback("1"), decision("2")], path)
    table = parquet.read_table(path)
    values = pyarrow.array([None, float("nan"), None])
    rest = pyarrow.array([None, None, "{broken"])
    for name, column in (("value", values), ("rest", rest)):
        table = table.set_column(table.schema.get_field_index(name), name, column)
    parquet.write_table(table, path)
    report = ReadReport()
    assert list(read_records(path, report=report)) == [decision("1")]
    assert report.problems == [
        f"{path} row 2 has nan for value, which must be a finite number, and was skipped",
        f'{path} row 3 is no record but "JSON that can\'t be read", and was skipped',
    ]
    with pytest.raises(InputError, match=r"log\.parquet row 2 has nan"):
        list(read_parquet(path, strict=True))


def test_another_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"type": ["decision"], "id": ["1"]}), path)
    with pytest.raises(InputError, match=r"other\.parquet is no decision log: it has no column"):
        list(read_records(path))


def test_columns_of_other_types_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet([feedback()], path)
    table = parquet.read_table(path)
    place = table.schema.get_field_index("value")
    parquet.write_table(table.set_column(place, "value", pyarrow.array(["good"])), path)
    with pytest.raises(InputError, match=r"log\.parquet can't be read as Parquet: .*good"):
        list(read_records(path))


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "magic alone"])
def test_damage_is_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "log.parquet"
    write_parquet([decision(str(number)) for number in range(500)], path)
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        del content[-100:]
    elif damage == "overwritten":
        content[100:2000] = bytes(1900)
    else:
        content = bytearray(b"PAR1")
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"log\.parquet can't be read as Parquet: "):
        list(read_records(path))


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Any:
        yield decision()
        raise InputError("the source ended")

    for name in ("log.parquet", "log.jsonl", "log.jsonl.gz"):
        with pytest.raises(InputError, match="the source ended"):
            write_records(broken(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_converting_counts_what_it_passes_over(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "log.jsonl", [decision(), b"nonsense\n", feedback()])
    report = convert(source, tmp_path / "deep" / "log.parquet")
    assert (report.records, dict(report.skipped)) == (2, {"not_json": 1})
    with pytest.raises(InputError, match="line 2 is no JSON"):
        convert(source, tmp_path / "strict.parquet", strict=True)
    assert not (tmp_path / "strict.parquet").exists()


def test_a_log_is_not_converted_onto_itself_or_beside_rotated_files(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "log.jsonl", [decision()])
    with pytest.raises(InputError, match="is the log itself; give another name"):
        convert(source, tmp_path / "." / "log.jsonl")
    (tmp_path / "other.jsonl.20260101T000000.000000Z").write_bytes(b"")
    with pytest.raises(InputError, match=r"would be read as part of .*other\.jsonl"):
        convert(source, tmp_path / "other.jsonl")
    assert json.loads(source.read_bytes()) == decision()
