"""Spans and metrics of requests that were really served."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import chromadb
from langchain_chroma import Chroma
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, generate_latest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.logs.store import read_records
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.telemetry.opentelemetry import OpenTelemetryListener
from rl_rewriter.telemetry.prometheus import PrometheusListener
from tests.integration.langchain.parts import Embedder, documents
from tests.integration.llama_index.parts import chroma_index, retriever_over
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint
from tests.unit.logs.importers.parts import import_rows


def test_a_served_request_is_traced_counted_and_imports_as_it_was_logged(tmp_path: Path) -> None:
    exporter, provider, registry = InMemorySpanExporter(), TracerProvider(), CollectorRegistry()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    retriever = HybridRetriever(Bm25Retriever(DOCUMENTS), Bm25Retriever(DOCUMENTS))
    rewriter = RLQueryRewriter(
        retriever=retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        log=tmp_path / "decisions.jsonl",
        listeners=[
            OpenTelemetryListener(tracer_provider=provider, log_queries="text"),
            PrometheusListener(registry),
        ],
    )
    with provider.get_tracer("test").start_as_current_span("chain") as chain:
        served = [rewriter.retrieve(query, k=3, explore=True) for query in QUERIES]
    for each in served:
        rewriter.record(each.decision, each.ranking)
    own = [span for span in exporter.get_finished_spans() if span.name != "chain"]
    assert {span.parent and span.parent.span_id for span in own} == {
        chain.get_span_context().span_id
    }
    metrics = generate_latest(registry).decode()
    assert 'rl_rewriter_requests_total{adapter="python",reason="explored"} 4.0' in metrics

    logged = {record["id"]: record for record in read_records(tmp_path / "decisions.jsonl")}
    (tmp_path / "import").mkdir()
    rows = [json.loads(span.to_json()) for span in own]
    imported = import_rows(tmp_path / "import", "otel", rows).decisions
    assert len(imported) == len(logged) == len(QUERIES)
    for record in imported:
        twin = logged[record["id"]]
        same = ("propensity", "probabilities", "action", "texts", "state", "query", "reason")
        assert {key: record[key] for key in same} == {key: twin[key] for key in same}


def test_the_documents_of_both_adapters_come_back_from_their_spans(tmp_path: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    index = chroma_index()
    over = retriever_over(index)
    rewriter = RLQueryRewriter(
        checkpoint=fixed_checkpoint(over, "fuse_bm25@0.4"),
        log=tmp_path / "decisions.jsonl",
        listeners=[OpenTelemetryListener(tracer_provider=provider)],
        log_queries="hash",
    )
    store = Chroma("observed", Embedder(), client=chromadb.EphemeralClient())
    store.add_documents(documents())
    chain = langchain.RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    engine = llama_index.RewritingRetriever(rewriter, index.as_retriever(similarity_top_k=3))
    chain.invoke(QUERIES[0])
    engine.retrieve(QUERIES[1])
    asyncio.run(chain.ainvoke(QUERIES[2]))
    asyncio.run(engine.aretrieve(QUERIES[3]))

    spans = exporter.get_finished_spans()
    logged = list(read_records(tmp_path / "decisions.jsonl"))
    handed_over = [[document["id"] for document in record["documents"]] for record in logged]
    assert [len(ids) for ids in handed_over] == [4, 3, 4, 3]
    in_spans = [
        [
            (span.attributes or {})[f"retrieval.documents.{rank}.document.id"]
            for rank in range(len(ids))
        ]
        for span, ids in zip(spans, handed_over, strict=True)
    ]
    assert in_spans == handed_over
    (tmp_path / "import").mkdir()
    rows = [json.loads(span.to_json()) for span in spans]
    imported = import_rows(tmp_path / "import", "otel", rows).decisions
    assert [record["documents"] for record in imported] == [
        record["documents"] for record in logged
    ]
