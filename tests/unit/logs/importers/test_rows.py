"""Export files in all their forms, whole and damaged."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers import rows as rows_module
from rl_rewriter.logs.importers.rows import files_of, read_rows
from rl_rewriter.logs.report import ReadReport

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": '退款 \n, ] \\ "', "inner": {"list": [1, {"a": []}]}},
    {"id": "2", "text": "x" * 50},
    {"id": "3", "score": 0.5},
]


def read(path: Path) -> tuple[list[Any], ReadReport]:
    report = ReadReport(warns=False)
    return [dict(row) for row in read_rows(path, report)], report


def as_lines(path: Path) -> None:
    path.write_text("\n" + "\n\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")


def as_lines_with_a_mark(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\r\n" for row in ROWS), encoding="utf-8-sig")


def as_array(path: Path) -> None:
    path.write_text(json.dumps(ROWS, ensure_ascii=False), encoding="utf-8")


def as_pretty_array(path: Path) -> None:
    path.write_text("\n " + json.dumps(ROWS, indent=2), encoding="utf-8")


def as_answer(path: Path) -> None:
    path.write_text(json.dumps({"data": ROWS, "meta": {"page": 1}}), encoding="utf-8")


def as_pretty_answer(path: Path) -> None:
    path.write_text(json.dumps({"data": ROWS, "meta": {"page": 1}}, indent=4), encoding="utf-8")


def as_pretty_answer_with_the_list_last(path: Path) -> None:
    path.write_text(json.dumps({"meta": {"page": 1}, "runs": ROWS}, indent=4), encoding="utf-8")


def as_parquet(path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS, schema=_schema(pyarrow)), path)


def _schema(pyarrow: Any) -> Any:
    element = pyarrow.struct([("a", pyarrow.list_(pyarrow.int64()))])
    return pyarrow.schema(
        [
            ("id", pyarrow.string()),
            ("text", pyarrow.string()),
            ("score", pyarrow.float64()),
            ("inner", pyarrow.map_(pyarrow.string(), pyarrow.list_(element))),
        ]
    )


@pytest.mark.parametrize("chunk", [1 << 20, 7])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        as_lines,
        as_lines_with_a_mark,
        as_array,
        as_pretty_array,
        as_answer,
        as_pretty_answer,
        as_pretty_answer_with_the_list_last,
    ],
)
def test_every_form_of_json_gives_the_same_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path], None],
    packed: bool,
    chunk: int,
) -> None:
    monkeypatch.setattr("rl_rewriter.logs.importers.json_array._CHUNK_BYTES", chunk)
    path = tmp_path / "export.json"
    write(path)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))

    found, report = read(path)

    assert found == ROWS
    assert report.problems == []


def test_parquet_rows_come_without_their_empty_cells(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "export.parquet"
    rows = [{**ROWS[0], "inner": [("list", [{"a": [1]}])]}, *ROWS[1:]]
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=_schema(pyarrow)), path)

    found, report = read(path)

    assert found == [{**ROWS[0], "inner": {"list": [{"a": [1]}]}}, *ROWS[1:]]
    assert (report.unit, report.number) == ("row", 3)


def test_csv_cells_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text('id,input,score\r\n1,"two\nlines, ""quoted""",\r\n2,退款,0.5\r\n', "utf-8-sig")
    found, report = read(path)
    assert found == [
        {"id": "1", "input": 'two\nlines, "quoted"'},
        {"id": "2", "input": "退款", "score": "0.5"},
    ]
    assert report.number == 4


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "1", ', "isn't JSON (Expecting property name"),
        ("nonsense", "isn't JSON (Expecting value at character 1)"),
        ("7", "is no JSON object"),
        ("[1]", "is no JSON object"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", ""),
        ('{"a": "' + "x" * 3000 + '"}', "is longer than 2,000 bytes"),
        ("x" * 3000, "is longer than 2,000 bytes"),
    ],
)
def test_one_bad_line_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, problem: str
) -> None:
    if "longer" in problem:
        monkeypatch.setattr(rows_module, "MAX_ROW_BYTES", 2000)
    path = tmp_path / "export.jsonl"
    path.write_text(f'{{"id": "a"}}\n{line}\n{{"id": "b"}}\n', encoding="utf-8")

    found, report = read(path)

    assert [row["id"] for row in found if "id" in row] == ["a", "b"]
    if problem:
        [told] = report.problems
        assert told.startswith(f"{path} line 2 {problem}")
        assert report.skipped == {"row that can't be read": 1}


@pytest.mark.parametrize("bad", ['{"id": "1", tr', '{"id": ', "{", "}"])
def test_a_bad_first_line_hides_no_other(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(f'{bad}\n{{"id": "b"}}\n{{"id": "c"}}', encoding="utf-8")
    found, report = read(path)
    assert [row["id"] for row in found] == ["b", "c"]
    [told] = report.problems
    assert told.startswith(f"{path} line 1 isn't JSON")


@pytest.mark.parametrize("second", ['{"id": "b', "nonsense"])
def test_several_bad_lines_at_the_start_hide_no_other(tmp_path: Path, second: str) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(f'{{"id": \n{second}\n{{"id": "c"}}\n\n{{"id": "d"}}', encoding="utf-8")
    found, report = read(path)
    assert [row["id"] for row in found] == ["c", "d"]
    assert [problem.split(" ")[2] for problem in report.problems] == ["1", "2"]


def test_a_truncated_last_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    as_lines(path)
    path.write_bytes(path.read_bytes()[:-5])
    found, report = read(path)
    assert found == ROWS[:-1]
    assert report.problems[0].startswith(f"{path} line 6 isn't JSON")


@pytest.mark.parametrize(
    ("tail", "problem"),
    [
        ("", "line 3 isn't whole: the JSON array breaks off here"),
        (",\n", "line 4 isn't whole: the JSON array breaks off here"),
        (',\n{"id": "c"', "line 4 isn't whole: the file breaks off in it"),
        (',\n{"id": "c', "line 4 isn't whole: the file breaks off in it"),
        (',\n{"id": nothing}, {"id": "d"}]', "line 4 isn't JSON (Expecting value)"),
        (",\n" + "[" * 100_000, "line 4 is nested too deeply"),
        (",\n7]", "line 4 is no JSON object"),
    ],
)
def test_a_damaged_array_is_read_up_to_there(tmp_path: Path, tail: str, problem: str) -> None:
    path = tmp_path / "export.json"
    path.write_text('[\n{"id": "a"},\n{"id": "b"}' + tail, encoding="utf-8")
    found, report = read(path)
    assert [row["id"] for row in found] == ["a", "b"]
    [told] = report.problems
    assert told.startswith(f"{path} {problem}")


def test_an_endless_element_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "MAX_ROW_BYTES", 2000)
    monkeypatch.setattr("rl_rewriter.logs.importers.json_array._CHUNK_BYTES", 100)
    path = tmp_path / "export.json"
    path.write_text('[{"id": "a"}, {"id": "' + "x" * 100_000, encoding="utf-8")
    found, report = read(path)
    assert found == [{"id": "a"}]
    assert "is longer than 2,000 characters" in report.problems[0]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04rest", "is a zip archive: unpack it first"),
        ('{"a": 1}'.encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        (b"\x7fELF\x00\x01\x02", "isn't text"),
        (b"\x28\xb5\x2f\xfdrest", "is compressed by zstd"),
        (b"PAR1 and then nothing", "is a damaged Parquet file, read to row 0"),
    ],
)
def test_other_files_are_refused_in_a_sentence(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "export.jsonl"
    path.write_bytes(content)
    found, report = read(path)
    assert found == []
    [told] = report.problems
    assert told.startswith(f"{path} {problem}")
    assert "\n" not in told


@pytest.mark.parametrize("cut", [6, -12, -1])
def test_a_damaged_gzip_file_is_read_up_to_there(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "export.jsonl.gz"
    lines = b"".join(b'{"id": "%d"}\n' % number for number in range(50_000))
    path.write_bytes(gzip.compress(lines)[:cut])
    found, report = read(path)
    assert len(found) < 50_000 or cut == -1
    assert f"{path} is a damaged gzip file, read to line" in report.problems[-1]


def test_bytes_that_are_no_text_spoil_one_line(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "\xff\xfe"}\n{"id": "c"}\n')
    found, report = read(path)
    assert [row["id"] for row in found] == ["a", "c"]
    assert "line 2 isn't UTF-8 text" in report.problems[0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("1,2,3", "has 3 cells where the header has 2"),
        ('"1"x,2', "isn't CSV ("),
    ],
)
def test_one_bad_row_of_a_csv_hides_no_other(tmp_path: Path, row: str, problem: str) -> None:
    path = tmp_path / "export.csv"
    path.write_text(f"id,score\na,1\n{row}\nb,2\n", encoding="utf-8")
    found, report = read(path)
    assert [row["id"] for row in found] == ["a", "b"]
    assert report.problems[0].startswith(f"{path} line 3 {problem}")


@pytest.mark.parametrize("header", ["", "one", "id,id"])
def test_a_csv_needs_a_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "export.csv"
    path.write_text(f"{header}\n1,2\n", encoding="utf-8")
    _, report = read(path)
    assert "line 1 must name the columns of the CSV" in report.problems[0]


def test_strict_reading_stops_at_the_first_problem(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text('{"id": "a"}\nnonsense\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"export\.jsonl line 2 isn't JSON"):
        list(read_rows(path, ReadReport(strict=True)))


def test_a_folder_gives_its_export_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "a.parquet", "deep/c.csv.gz", "notes.txt", ".hidden"):
        (tmp_path / name).write_text("x")
    names = [path.relative_to(tmp_path).as_posix() for path in files_of(tmp_path)]
    assert names == ["a.parquet", "b.jsonl", "deep/c.csv.gz"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        files_of(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match=r"holds no export: no file that ends in \.csv"):
        files_of(tmp_path)
