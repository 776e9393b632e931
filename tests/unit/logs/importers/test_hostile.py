"""Whatever stands in an export, the import ends with a log or with a sentence."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs
from rl_rewriter.logs.importers.registry import IMPORTERS
from rl_rewriter.logs.schema import problem_of
from tests.unit.logs.importers import test_langfuse, test_llama_index, test_otel, test_phoenix
from tests.unit.logs.importers.parts import Imported, import_rows, run, thumb, write_lines

GOOD: dict[str, list[dict[str, Any]]] = {
    "langsmith": [
        run("root", "chain", inputs={"messages": [{"type": "human", "content": "and abroad?"}]}),
        run("r", parent="root", feedback_stats={"thumb": {"n": 1, "avg": 1.0}}),
        thumb("root"),
    ],
    "langfuse": [
        test_langfuse.observation("o"),
        {"id": "t", "timestamp": "2026-01-01", "input": {"question": "q"}, "scores": [{}]},
        test_langfuse.score(subject={"kind": "trace", "id": "t"}),
    ],
    "phoenix": [
        test_phoenix.span(attributes=test_phoenix.NESTED),
        test_phoenix.as_table(test_phoenix.span("s2")),
        test_phoenix.annotation(document_position=0),
    ],
    "otel": [
        test_otel.otlp(test_otel.NEW, events=[{"name": "gen_ai.evaluation.result"}]),
        test_otel.dumped({**test_otel.OLD, "gen_ai.evaluation.name": "x"}),
    ],
    "llama-index": [test_llama_index.begun("a.b-1"), test_llama_index.ended("a.b-1")],
}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "\ud800", "{", "[[[", "1e999", "9" * 30, -1, 0, "", " "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything inside a JSON value."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


@st.composite
def spoilt_exports(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """An export with values of wrong types in any places."""
    tool = draw(st.sampled_from(sorted(GOOD)))
    rows = copy.deepcopy(GOOD[tool])
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([p for p in places(rows) if len(p) > 1]))
        holder: Any = rows
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = draw(ANYTHING)
    return tool, rows


def check_log(found: Imported) -> None:
    """Every line is a record, and the counts are true."""
    records = [json.loads(line) for line in found.log.read_text().splitlines()]
    assert [problem_of(record) for record in records] == [None] * len(records)
    assert len(records) == found.report.decisions + found.report.feedback
    assert all(r["propensity"] is None for r in records if r["type"] == "decision")


@given(spoilt_exports())
@settings(max_examples=120, deadline=None)
def test_wrong_types_anywhere_end_in_records_or_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, export: tuple[str, list[dict[str, Any]]]
) -> None:
    tool, rows = export
    folder = tmp_path_factory.mktemp("import")
    found, complaint = None, ""
    try:
        found = import_rows(folder, tool, rows)
    except InputError as error:
        complaint = str(error)
    assert "\n" not in complaint
    if found is not None:
        check_log(found)


@pytest.mark.parametrize("tool", sorted(IMPORTERS))
def test_the_good_export_is_good(tmp_path: Path, tool: str) -> None:
    check_log(import_rows(tmp_path, tool, GOOD[tool]))


@given(st.lists(ANYTHING, max_size=5), st.sampled_from(sorted(IMPORTERS)))
@settings(max_examples=40, deadline=None)
def test_any_json_at_all_ends_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], tool: str
) -> None:
    folder = tmp_path_factory.mktemp("import")
    export = write_lines(folder / "export.jsonl", values)
    with pytest.raises(InputError):
        import_logs([export], folder / "log.jsonl", ImportConfig(tool=tool))
    assert sorted(path.name for path in folder.iterdir()) == ["export.jsonl"]


@given(content=st.binary(max_size=200), name=st.sampled_from(["e.jsonl", "e.csv", "e.json.gz"]))
@settings(max_examples=40, deadline=None)
def test_any_bytes_at_all_end_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    export = tmp_path_factory.mktemp("import") / name
    export.write_bytes(content)
    with pytest.raises(InputError) as error:
        import_logs([export], export.parent / "log.jsonl", ImportConfig(tool="langsmith"))
    assert "\n" not in str(error.value)


def test_parents_in_a_ring_end(tmp_path: Path) -> None:
    rows = [
        run("a", "chain", parent="b", inputs={}),
        run("b", "chain", parent="a", inputs={}),
        run("r", parent="a"),
        run("self", parent="self"),
    ]
    found = import_rows(tmp_path, "langsmith", rows, [thumb("a")])
    assert {record["id"] for record in found.decisions} == {"r", "self"}
    assert found.verdicts("r") == [("thumb", 1.0)]


@pytest.mark.parametrize(
    "inputs",
    [
        {"query": "x" * 200_000},
        {"input": json.dumps({"input": json.dumps({"input": "[" * 50_000})})},
    ],
)
def test_what_is_no_question_is_a_problem(tmp_path: Path, inputs: dict[str, Any]) -> None:
    rows = [run("good"), run("bad", inputs=inputs)]
    found = import_rows(tmp_path, "langsmith", rows)
    assert found.decision["id"] == "good"
    assert "line 2 is a retrieval whose query text isn't there" in found.report.problems[0]


def test_endless_rankings_and_names_are_cut(tmp_path: Path) -> None:
    many = [{"id": str(number)} for number in range(5_000)]
    rows = [run("r", outputs={"documents": [{"id": "x" * 10_000, "page_content": "t"}, *many]})]
    [record] = import_rows(tmp_path, "langsmith", rows).decisions
    assert len(record["documents"]) == 1_000
    assert record["documents"][0]["id"].startswith("text:")
