"""OpenInference spans and Phoenix's annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.logs.importers.parts import QUESTION, START, Imported, import_rows

FLAT = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": QUESTION,
    "session.id": "session",
    "retrieval.documents.0.document.id": "a",
    "retrieval.documents.0.document.score": 0.9,
    "retrieval.documents.0.document.content": "text of a",
    "retrieval.documents.1.document.content": "text of b",
    "retrieval.documents.1.document.metadata": '{"chunk_id": "b"}',
}
NESTED = {
    "openinference": {"span": {"kind": "RETRIEVER"}},
    "input": {"value": QUESTION},
    "session": {"id": "session"},
    "retrieval": {
        "documents": [
            {"document": {"id": "a", "score": 0.9, "content": "text of a"}},
            {"document": {"content": "text of b", "metadata": {"chunk_id": "b"}}},
        ]
    },
}
OTLP = {
    "attributes": [
        {
            "key": key,
            "value": {"doubleValue" if isinstance(value, float) else "stringValue": value},
        }
        for key, value in FLAT.items()
    ]
}


def span(name: str = "s", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "id": "U3Bhbjox",
        "name": "retrieve",
        "context": {"trace_id": "t", "span_id": name},
        "span_kind": "RETRIEVER",
        "parent_id": parent,
        "start_time": "2026-01-01T00:00:00.000000+00:00",
        "end_time": "2026-01-01T00:00:00.500000+00:00",
        "status_code": "OK",
        "attributes": FLAT,
        "events": [],
        **fields,
    }


def as_table(row: dict[str, Any]) -> dict[str, Any]:
    """The row of the client's data frame."""
    columns = {key: value for key, value in row.items() if key not in ("attributes", "context")}
    documents = [
        {"document.id": "a", "document.score": 0.9, "document.content": "text of a"},
        {"document.content": "text of b", "document.metadata": {"chunk_id": "b"}},
    ]
    return {
        **columns,
        "context.span_id": row["context"]["span_id"],
        "context.trace_id": row["context"]["trace_id"],
        "attributes.openinference.span.kind": "RETRIEVER",
        "attributes.input.value": QUESTION,
        "attributes.session.id": "session",
        "attributes.retrieval.documents": documents,
    }


def annotation(**fields: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "name": "relevance",
        "annotator_kind": "HUMAN",
        "span_id": "s",
        "created_at": "2026-01-01T00:01:00+00:00",
        "result": {"label": "relevant", "score": 1.0, "explanation": None},
        **fields,
    }


def check(found: Imported) -> None:
    record = found.decision
    assert (record["id"], record["time"], record["latency_ms"]) == ("s", START, 500.0)
    assert (record["query"], record["action"]) == (QUESTION, "keep")
    assert record["documents"] == [{"id": "a", "score": 0.9}, {"id": "b", "score": None}]
    assert record["tags"] == {
        "run_id": "s",
        "trace_id": "t",
        "session_id": "session",
        "source": "phoenix",
    }


@pytest.mark.parametrize("attributes", [FLAT, NESTED, json.dumps(NESTED)])
def test_flattened_nested_and_written_out_attributes_are_the_same(
    tmp_path: Path, attributes: Any
) -> None:
    check(import_rows(tmp_path, "phoenix", [span(attributes=attributes)]))


def test_a_row_of_the_clients_data_frame(tmp_path: Path) -> None:
    check(import_rows(tmp_path, "phoenix", [as_table(span())]))


def test_an_otlp_message(tmp_path: Path) -> None:
    leaf = {
        "traceId": "t",
        "spanId": "s",
        "name": "retrieve",
        "startTimeUnixNano": "1767225600000000000",
        "endTimeUnixNano": 1767225600500000000,
        **OTLP,
    }
    message = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [leaf]}]}]}
    check(import_rows(tmp_path, "phoenix", [message]))


def test_annotations_of_documents_name_their_document(tmp_path: Path) -> None:
    annotations = [
        annotation(document_position=1),
        annotation(document_position=0, result={"label": "unrelated", "score": None}),
        annotation(document_position=2),
    ]

    found = import_rows(tmp_path, "phoenix", [span()], annotations)

    keys = ("kind", "value", "position", "document_id")
    assert [tuple(f[key] for key in keys) for f in found.feedback] == [
        ("relevance", 1.0, 1, "b"),
        ("relevance", 0.0, 0, "a"),
    ]
    assert found.report.notes == {"feedback labels read as 1 or 0": 1}
    assert found.report.skipped == {"feedback on a document beyond the ranking": 1}


@pytest.mark.parametrize("position", [-1, 0.5, "first", [0], 1e300])
def test_a_position_that_is_none_is_a_problem(tmp_path: Path, position: Any) -> None:
    found = import_rows(tmp_path, "phoenix", [span(), annotation(document_position=position)])
    assert found.feedback == []
    assert sum(found.report.skipped.values()) == 1


def test_annotations_of_spans_around_and_of_traces_reach_the_retrieval(tmp_path: Path) -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": QUESTION}
    rows = [span("root", attributes=chain), span("s", parent="root")]
    annotations = [
        annotation(span_id="root", name="correctness"),
        annotation(span_id="s", result={"score": 0.25}),
        {**annotation(name="tone"), "span_id": None, "trace_id": "t"},
        {**annotation(name="whole"), "span_id": None, "session_id": "session"},
    ]

    found = import_rows(tmp_path, "phoenix", rows, annotations)

    assert found.verdicts("s") == [("correctness", 1.0), ("relevance", 0.25), ("tone", 1.0)]
    assert found.report.skipped["feedback on a whole session or experiment"] == 1


def test_tables_of_evaluations_need_no_more_than_span_and_score(tmp_path: Path) -> None:
    rows = [
        {"context.span_id": "s", "score": 0.5, "label": "x", "explanation": "y"},
        {"span_id": "s", "annotation_name": "qa", "result.score": 1.0, "result.label": "correct"},
    ]
    found = import_rows(tmp_path, "phoenix", [span()], rows)
    assert found.verdicts("s") == [("annotation", 0.5), ("qa", 1.0)]


def test_feedback_among_the_attributes(tmp_path: Path) -> None:
    attributes = {
        **FLAT,
        "annotations.0.annotation.name": "useful",
        "annotations.0.annotation.score": 1,
        "trace.evaluations.0.evaluation.name": "answered",
        "trace.evaluations.0.evaluation.label": "pass",
    }
    found = import_rows(tmp_path, "phoenix", [span(attributes=attributes)])
    assert found.verdicts("s") == [("useful", 1.0), ("answered", 1.0)]


def test_feedback_on_the_trace_reaches_all_its_retrievals(tmp_path: Path) -> None:
    attributes = {**FLAT, "trace.annotations.0.annotation.name": "useful"}
    attributes["trace.annotations.0.annotation.score"] = 1
    found = import_rows(tmp_path, "phoenix", [span("s", attributes=attributes), span("s2")])
    assert found.verdicts("s") == found.verdicts("s2") == [("useful", 1.0)]


def test_documents_of_an_inner_retrieval_are_not_those_of_the_outer_one(tmp_path: Path) -> None:
    rows = [span("s"), span("inner", parent="s")]
    found = import_rows(
        tmp_path, "phoenix", rows, [annotation(span_id="inner", document_position=0)]
    )
    assert found.feedback == []
    reason = "feedback on a document of a retrieval that wasn't imported by itself"
    assert found.report.skipped[reason] == 1


def test_documents_without_ids_are_named_by_a_digest_and_counted(tmp_path: Path) -> None:
    attributes = {**FLAT}
    del attributes["retrieval.documents.0.document.id"]
    found = import_rows(tmp_path, "phoenix", [span(attributes=attributes)])

    first, second = found.decision["documents"]
    # printf 'text of a' | sha256sum
    assert first == {"id": "text:5897a7e98cecbe09", "score": 0.9}
    assert second["id"] == "b"
    assert found.report.notes == {"documents without an id, named by a digest or by rank": 1}
    assert "text of a" not in found.log.read_text()


@pytest.mark.parametrize("status", [{"status_code": "ERROR"}, {"status": {"code": 2}}])
def test_spans_that_failed_are_no_decisions(tmp_path: Path, status: dict[str, Any]) -> None:
    found = import_rows(tmp_path, "phoenix", [span("good"), span("bad", **status)])
    assert found.decision["id"] == "good"
    assert found.report.skipped == {"retrieval that failed": 1}
