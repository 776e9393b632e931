"""Reading JSON with care: what is absent is None, what is wrong names its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.report.fields import Fields, read_lines, read_object
from rl_rewriter.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
METHODS = (
    *("number", "count", "flag", "text", "child", "children", "named", "numbers", "texts"),
    *("number_list", "interval"),
)


def fields(**values: Any) -> Fields:
    return Fields(values, "run/results.json", "collections[0]")


def test_values_of_the_right_type_are_given_back() -> None:
    found = fields(
        x=1, share=0.5, name="a", yes=True, part={"y": 2}, parts=[{"z": 3}], ci=[0.1, 0.2]
    )
    assert found.number("x") == 1.0
    assert found.count("x") == 1
    assert found.number("share") == 0.5
    assert found.text("name") == "a"
    assert found.flag("yes") is True
    assert found.interval("ci") == (0.1, 0.2)
    assert [part.number("z") for part in found.children("parts")] == [3.0]
    assert found.numbers("part") == {"y": 2.0}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("values", [{}, {"key": None}])
def test_what_is_absent_or_null_is_nothing(method: str, values: dict[str, Any]) -> None:
    found = getattr(Fields(values, "file"), method)("key")
    assert not (list(found) if method in ("children", "named") else found)


@given(value=JSON, method=st.sampled_from(METHODS))
def test_any_json_value_is_read_or_refused_by_name(value: Any, method: str) -> None:
    said = ""
    try:
        found = getattr(fields(key=value), method)("key")
        list(found) if method in ("children", "named") else found
    except InputError as error:
        said = str(error)
    assert said == "" or said.startswith("run/results.json: collections[0].key")
    assert len(said) < 250


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("number", "high", "key must be a finite number, got 'high'"),
        ("number", True, "key must be a finite number, got True"),
        ("number", float("nan"), "key must be a finite number, got nan"),
        ("number", float("inf"), "key must be a finite number, got inf"),
        ("number", 10**400, "key must be a finite number, got 1000000"),
        ("count", 2.5, "key must be a whole number >= 0, got 2.5"),
        ("count", -1, "key must be a whole number >= 0, got -1"),
        ("flag", 1, "key must be true or false, got 1"),
        ("text", ["a"], "key must be a string, got ['a']"),
        ("child", [], "key must be an object, got []"),
        ("interval", [1.0], "key must be [low, high], got [1.0]"),
        ("interval", [2, 1], "key must be [low, high], got [2, 1]"),
        ("texts", ["a", 1], "key[1] must be a string, got 1"),
        ("numbers", {"a": "b"}, "key.a must be a finite number, got 'b'"),
    ],
)
def test_the_error_says_what_was_wanted_and_what_was_found(
    method: str, value: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        getattr(fields(key=value), method)("key")
    assert str(caught.value).startswith(f"run/results.json: collections[0].{message}")


def test_a_needed_text_must_be_there() -> None:
    assert fields(name="a").needed_text("name") == "a"
    with pytest.raises(InputError, match=r"collections\[0\].name must be there"):
        fields(name="").needed_text("name")


def test_a_missing_file_is_none_and_has_no_lines(tmp_path: Path) -> None:
    assert read_object(tmp_path / "absent.json") is None
    assert read_object(tmp_path / "absent" / "absent.json") is None
    assert list(read_lines(tmp_path / "absent.jsonl")) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1 is no JSON: Expecting value (column 1)"),
        (b'{\n"a": 1,\n}', "line 3 is no JSON"),
        (b"[1]", "must be a JSON object, got [1]"),
        (b"\xff\xfe\x00", "is no UTF-8 text: invalid start byte at byte 0"),
        (b'{"a":' + b"[" * 100_000, "cannot be read as JSON"),
        (b'{"a":' + b"1" * 10_000 + b"}", "cannot be read as JSON"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_object(path)
    assert str(caught.value).startswith(f"{path} {message}")


def test_a_folder_in_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "results.json").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_object(tmp_path / "results.json")


def test_the_lines_of_a_file_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "training.jsonl"
    path.write_text('{"a": 1}\n\n{"a": "b"}\n{\n')
    lines = read_lines(path)
    assert next(lines).number("a") == 1.0
    with pytest.raises(InputError, match=r"training.jsonl line 3: a must be a finite number"):
        next(lines).number("a")
    with pytest.raises(InputError, match=r"training.jsonl line 4 is no JSON"):
        next(lines)


def test_text_beyond_ascii_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"name": "退款"}, ensure_ascii=False), "utf-8")
    found = read_object(path)
    assert found is not None
    assert found.text("name") == "退款"
