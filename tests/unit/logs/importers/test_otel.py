"""OpenTelemetry's GenAI conventions, old and new, in the envelopes of OTLP and of the SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.logs.importers.parts import QUESTION, START, import_rows

TRACE, SPAN, ROOT = "5b8aa5a2d2c872e8321cf37308d69df2", "051581bf3cb55c13", "eee19b7ec3c1b174"
NEW = {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.retrieval.query.text": QUESTION,
    "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.9}, {"id": "b", "score": 0.5}]',
    "gen_ai.conversation.id": "session",
}
OLD = {
    "gen_ai.operation.name": "retrieve",
    "gen_ai.retrieval.query": QUESTION,
    "gen_ai.retrieval.documents": [{"id": "a", "score": 0.9}, {"id": "b", "score": "0.5"}],
    "session.id": "session",
}
BARE = {key: NEW[key] for key in list(NEW)[1:]}


def typed(value: Any) -> dict[str, Any]:
    """A value as OTLP's JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": keyed(value)}}
    return {"stringValue": value}


def keyed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def otlp(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    leaf = {
        "traceId": TRACE,
        "spanId": SPAN,
        "parentSpanId": "",
        "name": "retrieval docs",
        "kind": 3,
        "startTimeUnixNano": "1767225600000000000",
        "endTimeUnixNano": "1767225600500000000",
        "attributes": keyed(attributes),
        **fields,
    }
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": [leaf]}]}]}


def dumped(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A span as the SDK's console exporter prints it."""
    return {
        "name": "retrieval docs",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{SPAN}", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:00.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        **fields,
    }


@pytest.mark.parametrize("attributes", [NEW, OLD, BARE])
@pytest.mark.parametrize("envelope", [otlp, dumped])
def test_every_spelling_in_every_envelope(
    tmp_path: Path, attributes: dict[str, Any], envelope: Any
) -> None:
    record = import_rows(tmp_path, "otel", [envelope(attributes)]).decision

    assert (record["id"], record["time"], record["latency_ms"]) == (SPAN, START, 500.0)
    assert (record["query"], record["action"]) == (QUESTION, "keep")
    assert record["documents"] == [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.5}]
    assert record["tags"]["session_id"] == "session"
    assert record["tags"]["trace_id"] == TRACE
    assert record["reason"] == "imported:otel"


def test_the_question_of_the_agent_tells_a_rewrite(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Hello!"}]},
        {"role": "user", "parts": [{"type": "text", "content": "and abroad?"}]},
    ]
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.conversation.id": "session",
    }
    retrieval = {key: value for key, value in NEW.items() if key != "gen_ai.conversation.id"}
    rows = [otlp(retrieval, parentSpanId=ROOT), otlp(agent, spanId=ROOT)]

    record = import_rows(tmp_path, "otel", rows).decision

    assert (record["query"], record["texts"]) == ("and abroad?", [QUESTION])
    assert (record["action"], record["history_len"]) == ("imported:rewrite", 2)
    assert record["tags"]["session_id"] == "session"


@pytest.mark.parametrize(
    "verdict",
    [
        {"gen_ai.evaluation.score.value": 0.5, "gen_ai.evaluation.score.label": "pass"},
        {"gen_ai.evaluation.score": 0.5},
    ],
)
@pytest.mark.parametrize("place", ["event", "log", "span", "dump"])
def test_evaluations_come_as_events_logs_or_spans(
    tmp_path: Path, verdict: dict[str, Any], place: str
) -> None:
    attributes = {"gen_ai.evaluation.name": "relevance", **verdict}
    moment = {"timeUnixNano": "1767225660000000000"}
    event = {"name": "gen_ai.evaluation.result", "attributes": keyed(attributes), **moment}
    log = {"eventName": "gen_ai.evaluation.result", "traceId": TRACE, "spanId": SPAN, **moment}
    rows = {
        "event": [otlp(NEW, events=[event])],
        "log": [
            otlp(NEW),
            {
                "resourceLogs": [
                    {"scopeLogs": [{"logRecords": [{**log, "attributes": keyed(attributes)}]}]}
                ]
            },
        ],
        "span": [
            otlp(NEW),
            otlp(
                attributes,
                spanId="aaaaaaaaaaaaaaaa",
                parentSpanId=SPAN,
                endTimeUnixNano=moment["timeUnixNano"],
            ),
        ],
        "dump": [
            dumped(NEW),
            {
                "event_name": "gen_ai.evaluation.result",
                "attributes": attributes,
                "trace_id": f"0x{TRACE}",
                "span_id": f"0x{SPAN}",
                "timestamp": "2026-01-01T00:01:00Z",
            },
        ],
    }[place]

    [feedback] = import_rows(tmp_path, "otel", rows).feedback

    assert (feedback["decision_id"], feedback["kind"]) == (SPAN, "relevance")
    assert (feedback["value"], feedback["time"]) == (0.5, START + 60.0)


def test_an_evaluation_of_the_answer_reaches_the_retrieval_of_its_trace(tmp_path: Path) -> None:
    event = {
        "name": "gen_ai.evaluation.result",
        "timestamp": "2026-01-01T00:01:00Z",
        "attributes": {
            "gen_ai.evaluation.name": "Relevance",
            "gen_ai.evaluation.score.label": "not_relevant",
        },
    }
    context = {"trace_id": f"0x{TRACE}", "span_id": f"0x{ROOT}"}
    chat = dumped({"gen_ai.operation.name": "chat"}, context=context, events=[event])

    found = import_rows(tmp_path, "otel", [dumped(NEW), chat])

    assert found.verdicts(SPAN) == [("Relevance", 0.0)]
    assert found.report.skipped == {"span that is no retrieval": 1}


def test_openinference_spans_are_read_as_well(tmp_path: Path) -> None:
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": QUESTION,
        "retrieval.documents.0.document.id": "a",
    }
    record = import_rows(tmp_path, "otel", [otlp(attributes)]).decision
    assert (record["query"], record["documents"]) == (QUESTION, [{"id": "a", "score": None}])


def test_other_tools_span_kinds_are_no_openinference(tmp_path: Path) -> None:
    record = import_rows(tmp_path, "otel", [dumped(BARE, span_kind="CLIENT")]).decision
    assert (record["query"], len(record["documents"])) == (QUESTION, 2)


def test_a_query_that_was_not_captured_is_a_problem_with_its_line(tmp_path: Path) -> None:
    rows = [otlp(NEW), otlp({"gen_ai.operation.name": "retrieval"}, spanId="bbbbbbbbbbbbbbbb")]
    found = import_rows(tmp_path, "otel", rows)
    [problem] = found.report.problems
    assert "export.jsonl line 2 is a retrieval whose query text isn't there" in problem


@pytest.mark.parametrize("nothing", [None, "", "0x0000000000000000", 7.5])
def test_a_span_without_an_id_is_a_problem(tmp_path: Path, nothing: Any) -> None:
    found = import_rows(tmp_path, "otel", [otlp(NEW), otlp(NEW, spanId=nothing)])
    assert found.decision["id"] == SPAN
    assert found.report.skipped == {"span without an id": 1}


def test_other_log_records_are_counted(tmp_path: Path) -> None:
    log = {"body": {"stringValue": "hello"}, "traceId": TRACE, "spanId": SPAN}
    rows = [otlp(NEW), {"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}]
    assert import_rows(tmp_path, "otel", rows).report.skipped == {"log record": 1}
