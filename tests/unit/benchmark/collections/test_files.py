"""Files that cannot be read end in one sentence, whatever is in them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_rewriter.benchmark.collections.files import (
    Place,
    dataset_name,
    read_json,
    read_json_lines,
    read_lines,
    read_table,
    sample,
    shown,
)
from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.errors import InputError


def cells(path: Path) -> list[list[str]]:
    return [row for _, row in read_table(path)]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,"x, ""y""\nz"\n',
        'a;b\n1;"x, ""y""\nz"\n',
        'a\tb\n1\t"x, ""y""\nz"\n',
        '\ufeffa,b\r\n1,"x, ""y""\nz"\r\n\r\n',
    ],
)
def test_tables_of_several_separators(tmp_path: Path, text: str) -> None:
    assert cells(written(tmp_path / "a.csv", text)) == [["a", "b"], ["1", 'x, "y"\nz']]


def test_quotes_in_tab_separated_files(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", 'a\t"b, c"\n"x ""y"""\t"a" and "b"\n"\t""\n')
    assert cells(path) == [["a", "b, c"], ['x "y"', '"a" and "b"'], ['"', ""]]


def test_a_row_of_several_lines_is_named_by_its_first(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'a,b\n"1\n2",x\n\n3,y\n')
    assert [str(place) for place, _ in read_table(path)] == [
        f"{path} line 1",
        f"{path} line 2",
        f"{path} line 5",
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [('1,"x"y\n', "line 2 is no CSV: "), ('1,"x\n', "line 2 is no CSV: ")],
)
def test_quotes_that_do_not_match(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cells(written(tmp_path / "a.csv", f"a,b\n{row}"))


def test_a_cell_may_be_as_long_as_a_document(tmp_path: Path) -> None:
    limit, long = csv.field_size_limit(), "x" * 200_000
    path = written(tmp_path / "a.csv", f"a,b\n1,{long}\n2,c\n")
    assert cells(path) == [["a", "b"], ["1", long], ["2", "c"]]
    rows = read_table(path)
    next(rows)
    assert csv.field_size_limit() == limit  # other readers of the process keep theirs


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv.gz", gzip.compress("a\tb\n退\tc\n".encode()))
    assert cells(path) == [["a", "b"], ["退", "c"]]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl.gz", b"not packed", "cannot be read: "),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 1000)[:-20], "cannot be read: "),
        ("a.jsonl", b"\xff\xfe{\x00", "is not UTF-8: "),
        ("a.jsonl", b"\n \n", "is empty"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"[" * 200_000, "line 1 is nested too deeply to be read"),
        ("a.jsonl", b'{"a": ' + b"9" * 5000 + b"}", "line 1 is no JSON: "),
        ("a.jsonl", b'{"a": 1}\n{"a"\n', "line 2 is no JSON: "),
        ("a.jsonl", b'{"a": 1}\n[1]\n', "line 2 is no JSON object"),
    ],
)
def test_json_lines_that_cannot_be_read(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(InputError) as caught:
        list(read_json_lines(path))
    assert str(caught.value).startswith(f"{path} {said}")


def test_json_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", '{"a": 1,\n "b": }')
    with pytest.raises(InputError, match=r"a\.json line 2 is no JSON: Expecting value"):
        read_json(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is missing"):
        list(read_lines(tmp_path / "nothing"))
    with pytest.raises(InputError, match=r"cannot be read: .*directory"):
        list(read_lines(tmp_path))


def test_values_and_names_in_messages_are_short() -> None:
    assert len(shown("x" * 1000)) <= 80
    assert shown("a\nb") == r"'a\nb'"
    assert sample([]) == "nothing"
    assert sample(["a\nb", "x" * 1000]) == f"a b, {'x' * 80}"
    assert sample(list("abcdefghij"), 2) == "a, b ..."
    assert dataset_name(Path("a/faq.v2.jsonl.gz")) == dataset_name(Path("faq.v2.csv")) == "faq.v2"
    assert str(Place(Path("a"))) == "a"
    assert str(Place(Path("a"), 2, "item")) == "a item 2"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.binary(max_size=200)
    | st.text(alphabet='{}[]",:;|\t\n<>topnumqdci1e ', max_size=200).map(str.encode),
    name=st.sampled_from(["a.csv", "a.tsv", "a.json", "a.jsonl", "a.csv.gz", "queries.jsonl"]),
)
def test_no_content_ends_in_another_exception(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / "qrels.tsv").write_text("q\td\t1\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "a"}\n')
    path = written(tmp_path / name, content)
    said = ""
    try:
        read_collection(path.parent if name == "queries.jsonl" else path)
    except InputError as error:
        said = str(error)
    finally:
        path.unlink()
    assert "\n" not in said
