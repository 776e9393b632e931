"""Records made by the tools' own packages, where those are installed."""

from __future__ import annotations

import json
import typing
import uuid
from datetime import datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.unit.logs.importers.parts import QUESTION, START, Imported, import_rows

BEGUN = datetime(2026, 1, 1, tzinfo=timezone.utc)
ENDED = BEGUN + timedelta(seconds=0.5)


def needed(module: str) -> Any:
    """The module; the test is skipped, and says why, where its package isn't installed."""
    top = module.split(".")[0]
    pytest.importorskip(top, reason=f"{top} isn't installed: its own record classes go unchecked")
    return import_module(module)


def check(found: Imported, name: str, kind: str) -> None:
    record = found.decision
    assert (record["id"], record["query"]) == (name, QUESTION)
    assert (record["time"], record["latency_ms"]) == (START, 500.0)
    assert record["documents"] == [{"id": "a", "score": 0.5}]
    assert found.verdicts(name) == [(kind, 1.0)]


def test_langsmith_runs_and_feedback(tmp_path: Path) -> None:
    schemas = needed("langsmith.schemas")
    document = needed("langchain_core.documents").Document
    run_id, trace_id = uuid.uuid4(), uuid.uuid4()
    found = document(page_content="text", id="a", metadata={"score": 0.5})
    run = schemas.Run(
        id=run_id,
        trace_id=trace_id,
        parent_run_id=trace_id,
        dotted_order="x",
        session_id=uuid.uuid4(),
        name="VectorStoreRetriever",
        run_type="retriever",
        inputs={"query": QUESTION},
        outputs={"documents": [found.model_dump()]},
        start_time=BEGUN,
        end_time=ENDED,
        extra={"metadata": {"thread_id": "conversation"}},
    )
    feedback = schemas.Feedback(
        id=uuid.uuid4(),
        created_at=ENDED,
        modified_at=ENDED,
        run_id=trace_id,
        trace_id=trace_id,
        key="user_score",
        score=True,
    )

    rows = [json.loads(model.model_dump_json()) for model in (run, feedback)]
    imported = import_rows(tmp_path, "langsmith", rows)

    check(imported, str(run_id), "user_score")
    assert imported.decision["tags"]["session_id"] == "conversation"


def test_langfuse_observations_and_scores(tmp_path: Path) -> None:
    types = needed("langfuse.api.commons.types")
    observation = types.ObservationV2(
        id="o",
        trace_id="t",
        project_id="p",
        type="RETRIEVER",
        name="retrieve",
        start_time=BEGUN,
        end_time=ENDED,
        session_id="conversation",
        input=json.dumps({"query": QUESTION}),
        output=json.dumps([{"id": "a", "page_content": "text", "metadata": {"score": 0.5}}]),
    )
    score = types.BooleanScore(
        id="s",
        trace_id="t",
        name="helpful",
        source="API",
        timestamp=ENDED,
        created_at=ENDED,
        updated_at=ENDED,
        environment="default",
        value=1.0,
        string_value="True",
    )

    rows = [json.loads(model.json(by_alias=True)) for model in (observation, score)]
    assert "traceId" in rows[0]
    imported = import_rows(tmp_path, "langfuse", rows)

    check(imported, "o", "helpful")
    assert imported.decision["tags"]["session_id"] == "conversation"


def test_the_fields_of_phoenixs_client_are_those_of_our_rows(tmp_path: Path) -> None:
    pytest.importorskip(
        "phoenix.client", reason="arize-phoenix-client isn't installed: its rows go unchecked"
    )
    v1 = import_module("phoenix.client.__generated__.v1")
    from tests.unit.logs.importers.test_phoenix import annotation, span

    fields = typing.get_type_hints(v1.Span)
    assert set(span()) <= set(fields)
    assert set(typing.get_type_hints(v1.SpanContext)) == set(span()["context"])
    assert set(annotation()) <= set(typing.get_type_hints(v1.SpanAnnotation))
    positioned = {"name", "annotator_kind", "span_id", "document_position", "result"}
    assert positioned <= set(typing.get_type_hints(v1.SpanDocumentAnnotationData))


def test_openinference_names_its_attributes_as_we_read_them(tmp_path: Path) -> None:
    names = needed("openinference.semconv.trace")
    span, document = names.SpanAttributes, names.DocumentAttributes
    from tests.unit.logs.importers.test_phoenix import span as row

    prefix = f"{span.RETRIEVAL_DOCUMENTS}.0."
    attributes = {
        span.OPENINFERENCE_SPAN_KIND: names.OpenInferenceSpanKindValues.RETRIEVER.value,
        span.INPUT_VALUE: QUESTION,
        span.SESSION_ID: "conversation",
        f"{prefix}{document.DOCUMENT_ID}": "a",
        f"{prefix}{document.DOCUMENT_SCORE}": 0.5,
        f"{span.ANNOTATIONS}.0.{names.AnnotationAttributes.ANNOTATION_NAME}": "useful",
        f"{span.ANNOTATIONS}.0.{names.AnnotationAttributes.ANNOTATION_SCORE}": 1.0,
    }
    imported = import_rows(tmp_path, "phoenix", [row(attributes=attributes)])
    check(imported, "s", "useful")
    assert imported.decision["tags"]["session_id"] == "conversation"


def test_spans_of_the_otel_sdk_as_it_prints_and_sends_them(tmp_path: Path) -> None:
    sdk = needed("opentelemetry.sdk.trace")
    export = needed("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    simple = needed("opentelemetry.sdk.trace.export").SimpleSpanProcessor
    names = needed("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    memory, provider = export.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(simple(memory))
    attributes = {
        names.GEN_AI_OPERATION_NAME: names.GenAiOperationNameValues.RETRIEVAL.value,
        names.GEN_AI_RETRIEVAL_QUERY_TEXT: QUESTION,
        names.GEN_AI_RETRIEVAL_DOCUMENTS: '[{"id": "a", "score": 0.5}]',
        names.GEN_AI_CONVERSATION_ID: "conversation",
    }
    verdict = {
        names.GEN_AI_EVALUATION_NAME: "relevance",
        names.GEN_AI_EVALUATION_SCORE_VALUE: 1.0,
    }
    begun = 1_767_225_600_000_000_000
    span = provider.get_tracer("test").start_span(
        "retrieval", attributes=attributes, start_time=begun
    )
    span.add_event("gen_ai.evaluation.result", verdict)
    span.end(begun + 500_000_000)
    [ended] = memory.get_finished_spans()
    name = f"{ended.context.span_id:016x}"

    printed = import_rows(tmp_path, "otel", [json.loads(ended.to_json())])
    check(printed, name, "relevance")
    assert printed.decision["tags"]["session_id"] == "conversation"

    message = needed("google.protobuf.json_format").MessageToDict(
        needed("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans([ended])
    )
    leaf = message["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    leaf["spanId"] = name  # OTLP's JSON has it in hexadecimal, protobuf's own in base 64
    check(import_rows(tmp_path, "otel", [message], replace=True), name, "relevance")


def test_llama_index_events_as_they_dump_themselves(tmp_path: Path) -> None:
    events = needed("llama_index.core.instrumentation.events.retrieval")
    schema = needed("llama_index.core.schema")
    shared = {"span_id": "R.retrieve-1", "tags": {"session_id": "conversation"}}
    asked = {"str_or_query_bundle": schema.QueryBundle(QUESTION)}
    node = schema.NodeWithScore(node=schema.TextNode(id_="a", text="text"), score=0.5)
    start = events.RetrievalStartEvent(**shared, **asked, timestamp=BEGUN)
    end = events.RetrievalEndEvent(**shared, **asked, nodes=[node], timestamp=ENDED)
    own = {"type": "feedback", "decision_id": "R.retrieve-1", "kind": "thumb", "value": 1}

    rows = [json.loads(event.model_dump_json()) for event in (start, end)]
    check(import_rows(tmp_path, "llama-index", [*rows, own]), "R.retrieve-1", "thumb")
    dumps = [json.loads(json.dumps(event.model_dump(), default=str)) for event in (start, end)]
    imported = import_rows(tmp_path, "llama-index", [*dumps, own], replace=True)
    check(imported, "R.retrieve-1", "thumb")
    assert imported.decision["tags"]["session_id"] == "conversation"
