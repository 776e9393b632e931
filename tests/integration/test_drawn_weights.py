"""Weights drawn while serving over Chroma come back from spans as the log has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rl_rewriter import Exploration, RLQueryRewriter
from rl_rewriter.logs.records import decision_record
from rl_rewriter.logs.store import read_records
from rl_rewriter.policies.decider import Decider
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.policies import Chosen
from rl_rewriter.telemetry.opentelemetry import OpenTelemetryListener
from rl_rewriter.types import Query
from tests.support import QUERIES, TokenEmbedder, blend_checkpoint, chroma_collection
from tests.unit.logs.importers.parts import import_rows

KEYS = ("propensity", "blends", "sigma", "weights", "log_density")


def test_spans_import_with_the_drawn_weights(tmp_path: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path / "bm25")
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=blend_checkpoint(retriever),
        log=tmp_path / "decisions.jsonl",
        log_queries="hash",
        exploration=Exploration(around="greedy", sigma=0.5),
        listeners=[OpenTelemetryListener(tracer_provider=provider)],
    )
    for query in QUERIES:
        served = rewriter.retrieve(query, k=3, explore=True)
        rewriter.record(served.decision, served.ranking)
    logged = {record["id"]: record for record in read_records(tmp_path / "decisions.jsonl")}
    assert all(record["log_density"] is not None for record in logged.values())
    (tmp_path / "import").mkdir()
    rows = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    imported = import_rows(tmp_path / "import", "otel", rows).decisions
    assert len(imported) == len(QUERIES)
    for record in imported:
        twin = logged[record["id"]]
        assert {key: record[key] for key in KEYS} == {key: twin[key] for key in KEYS}


def test_a_request_of_the_same_seed_draws_the_same_weights(tmp_path: Path) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=blend_checkpoint(retriever),
        exploration=Exploration(around="greedy", sigma=0.5),
    )
    first, again, other = (
        rewriter.retrieve(QUERIES[0], k=3, explore=True, seed=seed) for seed in (7, 7, 8)
    )
    assert first.decision.weights == again.decision.weights != other.decision.weights
    assert first.ranking.ids == again.ranking.ids
    assert rewriter.retrieve(QUERIES[0], k=3).decision.weights == {}


def test_what_a_shadow_would_have_drawn_is_not_said_of_the_query_that_is_kept(
    tmp_path: Path,
) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    decider = Decider(blend_checkpoint(retriever))
    exploration = Exploration(around="greedy", sigma=0.5)
    rng = np.random.default_rng(0)
    made = decider.plan(Query(QUERIES[0]), retriever, rng=rng, exploration=exploration).decision
    assert made.weights
    shown = Chosen(decider, shadow=True).served(made)
    assert (shown.action, shown.weights, shown.log_density) == ("keep", {}, None)
    assert not {*KEYS[1:]} & decision_record(shown).keys()
