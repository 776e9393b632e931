"""Dumps of LlamaIndex's retrieval events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.logs.importers.parts import QUESTION, START, import_rows

OUTER, INNER = "QueryFusionRetriever.retrieve-1", "VectorIndexRetriever.retrieve-2"


def begun(span: str, query: str = QUESTION, **tags: str) -> dict[str, Any]:
    return {
        "timestamp": "2026-01-01T00:00:00",
        "id_": f"start of {span}",
        "span_id": span,
        "tags": tags,
        "str_or_query_bundle": {"query_str": query, "image_path": None, "embedding": None},
    }


def ended(span: str, query: str = QUESTION, **tags: str) -> dict[str, Any]:
    node = {"id_": "a", "text": "text of a", "metadata": {"id": "never"}, "embedding": None}
    return {
        "timestamp": "2026-01-01 00:00:00.500000",
        "id_": f"end of {span}",
        "span_id": span,
        "tags": tags,
        "str_or_query_bundle": query,
        "nodes": [{"node": node, "score": 0.5, "class_name": "NodeWithScore"}],
        "class_name": "RetrievalEndEvent",
    }


def test_a_pair_of_events_by_hand(tmp_path: Path) -> None:
    rows = [begun(INNER, session_id="session"), ended(INNER, session_id="session")]

    found = import_rows(tmp_path, "llama-index", rows)

    record = found.decision
    assert (record["id"], record["query"], record["action"]) == (INNER, QUESTION, "keep")
    assert (record["time"], record["latency_ms"]) == (START, 500.0)
    assert record["documents"] == [{"id": "a", "score": 0.5}]
    assert record["tags"]["session_id"] == "session"
    assert found.report.skipped == found.report.notes == {}


def test_an_end_alone_is_a_decision_of_unknown_duration(tmp_path: Path) -> None:
    record = import_rows(tmp_path, "llama-index", [ended(INNER)]).decision
    assert (record["time"], record["latency_ms"]) == (START + 0.5, None)


def test_nested_retrievals_of_one_request_count_once(tmp_path: Path) -> None:
    tags = {"request_id": "r1"}
    rows = [
        begun(OUTER, **tags),
        begun(INNER, "refund", **tags),
        ended(INNER, "refund", **tags),
        ended(OUTER, **tags),
    ]

    found = import_rows(tmp_path, "llama-index", rows)

    assert (found.decision["id"], found.decision["texts"]) == (OUTER, ["refund"])
    assert found.decision["action"] == "imported:rewrite"
    assert found.report.skipped == {"retrieval inside another one": 1}


def test_without_tags_overlapping_retrievals_are_all_imported_and_counted(tmp_path: Path) -> None:
    rows = [begun(OUTER), begun(INNER), ended(INNER), ended(OUTER)]

    found = import_rows(tmp_path, "llama-index", rows)

    assert {record["id"] for record in found.decisions} == {OUTER, INNER}
    assert found.report.notes == {"retrievals that overlap another (nested or concurrent)": 1}


def test_concurrent_requests_are_kept_apart_by_their_tags(tmp_path: Path) -> None:
    rows = [
        begun(OUTER, request_id="r1"),
        begun(INNER, request_id="r2"),
        ended(OUTER, request_id="r1"),
        ended(INNER, request_id="r2"),
    ]
    found = import_rows(tmp_path, "llama-index", rows)
    assert len(found.decisions) == 2
    assert found.report.notes == {}


def test_feedback_comes_in_this_packages_own_format(tmp_path: Path) -> None:
    bare = {"schema": 1, "type": "feedback", "time": START, "kind": "click", "value": 1}
    feedback = [
        {**bare, "decision_id": INNER, "position": 0},
        {**bare, "decision_id": "r1", "document_id": "a"},
        {**bare, "decision_id": "nobody"},
    ]

    found = import_rows(tmp_path, "llama-index", [ended(INNER, trace_id="r1")], feedback)

    assert [(f["decision_id"], f["position"], f["document_id"]) for f in found.feedback] == [
        (INNER, 0, "a"),
        (INNER, None, "a"),
    ]
    assert found.report.skipped == {"feedback on nothing that was imported": 1}


def test_other_events_and_open_retrievals_are_counted(tmp_path: Path) -> None:
    other = {"timestamp": "2026-01-01T00:00:00", "id_": "e", "span_id": "q", "query": QUESTION}
    found = import_rows(tmp_path, "llama-index", [ended(INNER), other, begun(OUTER)])
    assert found.report.skipped == {"event of another kind": 1, "retrieval that never ended": 1}


def test_this_packages_own_retriever_has_a_log_already(tmp_path: Path) -> None:
    rows = [ended(INNER), ended("RewritingRetriever.retrieve-3")]
    found = import_rows(tmp_path, "llama-index", rows)
    assert found.decision["id"] == INNER
