"""Langfuse's observations, traces and scores, in the spelling of its API and of its exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.logs.importers.parts import QUESTION, START, import_rows

DOCUMENTS = [{"id": "a", "page_content": "text", "metadata": {"score": 0.75}}]


def observation(id_: str, kind: str = "RETRIEVER", **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "traceId": "t",
        "type": kind,
        "name": "VectorStoreRetriever",
        "startTime": "2026-01-01T00:00:00.000Z",
        "endTime": "2026-01-01T00:00:00.500Z",
        "parentObservationId": None,
        "input": QUESTION,
        "output": DOCUMENTS,
        "metadata": {},
        "level": "DEFAULT",
        **fields,
    }


def score(**fields: Any) -> dict[str, Any]:
    return {
        "id": "s",
        "traceId": "t",
        "observationId": None,
        "name": "helpful",
        "value": 1.0,
        "stringValue": None,
        "dataType": "NUMERIC",
        "source": "API",
        "timestamp": "2026-01-01 00:01:00.000000",
        **fields,
    }


def as_exported(row: dict[str, Any]) -> dict[str, Any]:
    """The same row in the spelling of blob storage exports, inputs and outputs as text."""
    spelt = {re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", key): v for key, v in row.items()}
    return {k: json.dumps(v) if isinstance(v, list) else v for k, v in spelt.items()}


@pytest.mark.parametrize("spelling", ["api", "export"])
def test_an_observation_by_hand(tmp_path: Path, spelling: str) -> None:
    rows = [
        observation("o", sessionId="session"),
        score(observationId="o", value=0.5),
        score(value=1.0),
    ]
    if spelling == "export":
        rows = [as_exported(row) for row in rows]

    found = import_rows(tmp_path, "langfuse", rows)

    record = found.decision
    assert (record["id"], record["time"], record["latency_ms"]) == ("o", START, 500.0)
    assert (record["query"], record["action"]) == (QUESTION, "keep")
    assert record["documents"] == [{"id": "a", "score": 0.75}]
    assert record["tags"]["session_id"] == "session"
    assert record["reason"] == "imported:langfuse"
    assert found.verdicts("o") == [("helpful", 0.5), ("helpful", 1.0)]
    assert {f["time"] for f in found.feedback} == {START + 60.0}


def test_the_input_of_the_trace_tells_a_rewrite_and_the_session(tmp_path: Path) -> None:
    trace = {
        "id": "t",
        "timestamp": "2026-01-01T00:00:00Z",
        "name": "chat",
        "input": {"messages": [{"role": "user", "content": "and abroad?"}]},
        "sessionId": "session",
    }

    record = import_rows(tmp_path, "langfuse", [observation("o"), trace]).decision

    assert (record["action"], record["query"]) == ("imported:rewrite", "and abroad?")
    assert record["texts"] == [QUESTION]
    assert record["tags"]["session_id"] == "session"


def test_a_trace_with_everything_inside(tmp_path: Path) -> None:
    trace = {
        "id": "t",
        "timestamp": "2026-01-01T00:00:00Z",
        "input": QUESTION,
        "observations": [observation("o"), observation("g", "GENERATION", parentObservationId="o")],
        "scores": [score()],
    }
    found = import_rows(tmp_path, "langfuse", [trace])
    assert found.decision["id"] == "o"
    assert found.verdicts("o") == [("helpful", 1.0)]


def test_an_answer_of_the_api_is_unwrapped(tmp_path: Path) -> None:
    page = {"data": [observation("o1"), observation("o2"), 7], "meta": {"page": 1}}
    found = import_rows(tmp_path, "langfuse", [page])
    assert [record["id"] for record in found.decisions] == ["o1", "o2"]
    assert found.report.skipped == {"row that can't be read": 1}


def test_a_span_is_a_retrieval_where_name_and_output_say_so(tmp_path: Path) -> None:
    rows = [
        observation("s1", "SPAN", name="retrieve-context"),
        observation("s2", "SPAN", name="rerank"),
        observation("s3", "SPAN", name="retrieve-context", output="no list"),
    ]
    found = import_rows(tmp_path, "langfuse", rows)
    assert found.decision["id"] == "s1"
    assert found.report.notes == {"spans read as retrievals by their name and output": 1}
    assert found.report.skipped == {"span that is no retrieval": 2}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"value": True, "dataType": "BOOLEAN"}, 1.0),
        ({"value": 0, "stringValue": "False", "dataType": "BOOLEAN"}, 0.0),
        # A category without a config is always 0, whatever it says.
        ({"value": 0, "stringValue": "good", "dataType": "CATEGORICAL"}, 1.0),
        ({"value": 0, "stringValue": "middling", "dataType": "CATEGORICAL"}, None),
        ({"value": 2, "stringValue": "x", "dataType": "CATEGORICAL", "configId": "c"}, 2.0),
        ({"value": "relevant", "dataType": "CATEGORICAL"}, 1.0),
        ({"value": "5", "dataType": "TEXT"}, None),
        ({"value": None, "stringValue": None}, None),
    ],
)
def test_scores_become_numbers_or_are_counted(
    tmp_path: Path, fields: dict[str, Any], value: float | None
) -> None:
    found = import_rows(tmp_path, "langfuse", [observation("o"), score(**fields)])
    if value is None:
        assert found.report.skipped["feedback without a number"] == 1
    else:
        assert found.verdicts("o") == [("helpful", value)]


def test_scores_name_their_subject_in_the_newest_api(tmp_path: Path) -> None:
    bare = {"id": "s", "name": "helpful", "value": 1, "dataType": "NUMERIC", "timestamp": START}
    subjects = [
        {"kind": "observation", "id": "o", "traceId": "t"},
        {"kind": "trace", "id": "t"},
        {"kind": "session", "id": "session"},
    ]
    rows = [observation("o"), *({**bare, "subject": subject} for subject in subjects)]

    found = import_rows(tmp_path, "langfuse", rows)

    assert found.verdicts("o") == [("helpful", 1.0)] * 2
    assert found.report.skipped == {"feedback on a whole session or experiment": 1}


def test_a_retrieval_that_failed_is_no_decision(tmp_path: Path) -> None:
    rows = [observation("o"), observation("bad", level="ERROR")]
    found = import_rows(tmp_path, "langfuse", rows)
    assert found.decision["id"] == "o"
    assert found.report.skipped == {"retrieval that failed": 1}
