"""What a span says of a decision, whom it belongs to, and what an import makes of it."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from openinference.semconv.trace import OpenInferenceSpanKindValues, SpanAttributes
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.logs.records import decision_record, private_text
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.telemetry.opentelemetry import SPAN_NAME, OpenTelemetryListener
from tests.unit.logs.importers.parts import Imported, import_rows
from tests.unit.telemetry.parts import DOCUMENTS, QUESTION, Finished, decided


class Spans:
    """A provider whose finished spans can be looked at."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    @property
    def finished(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def only(self) -> ReadableSpan:
        [span] = self.finished
        return span

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The spans as the SDK prints them."""
        return [json.loads(span.to_json()) for span in self.finished]


@pytest.fixture
def spans() -> Spans:
    return Spans()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_span_of_its_own_is_a_retrieval_of_openinference(spans: Spans) -> None:
    OpenTelemetryListener(tracer_provider=spans.provider, log_queries="text")(Finished(decided()))
    found = attributes(spans.only)
    assert spans.only.name == SPAN_NAME
    kind = OpenInferenceSpanKindValues.RETRIEVER.value
    assert found[SpanAttributes.OPENINFERENCE_SPAN_KIND] == kind
    assert found[SpanAttributes.INPUT_VALUE] == QUESTION
    assert found[SpanAttributes.SESSION_ID] == "s1"
    documents = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.0.document"
    assert (found[f"{documents}.id"], found[f"{documents}.score"]) == ("refund", 0.75)
    assert f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.1.document.score" not in found


def test_the_decision_stands_in_attributes_of_our_own(spans: Spans) -> None:
    OpenTelemetryListener(tracer_provider=spans.provider)(Finished(decided(), llm_calls=2))
    found = attributes(spans.only)
    told = {n.removeprefix("rl_rewriter."): v for n, v in found.items() if "rl_rewriter." in n}
    del told["record"]
    assert told == {
        "decision_id": "d1",
        "action": "keywords",
        "strength": 1.0,
        "reason": "explored",
        "propensity": 0.3,
        "explored": True,
        "policy_name": "mlp",
        "policy_version": "abc",
        "latency_ms": 250.0,
        "cost": 0.01,
        "searches": 1,
        "llm_calls": 2,
        "adapter": "python",
        "n_documents": 2,
    }


def test_a_fallback_is_named(spans: Spans) -> None:
    listener = OpenTelemetryListener(tracer_provider=spans.provider)
    listener(Finished(decided(reason="fallback:timeout")))
    assert attributes(spans.only)["rl_rewriter.fallback"] == "timeout"


def test_the_span_lasts_as_long_as_our_own_time(spans: Spans) -> None:
    OpenTelemetryListener(tracer_provider=spans.provider)(Finished(decided(), seconds=0.25))
    start, end = spans.only.start_time, spans.only.end_time
    assert start is not None
    assert end is not None
    assert end - start == 250_000_000


def test_it_lies_below_the_span_that_is_current(spans: Spans) -> None:
    with spans.tracer.start_as_current_span("chain") as chain:
        OpenTelemetryListener(tracer_provider=spans.provider)(Finished(decided()))
    own = spans.finished[0]
    assert own.parent is not None
    assert own.parent.span_id == chain.get_span_context().span_id


def test_the_current_span_can_take_the_attributes_instead(spans: Spans) -> None:
    listener = OpenTelemetryListener(span="current")
    listener(Finished(decided()))
    assert spans.finished == ()
    with spans.tracer.start_as_current_span("retriever"):
        listener(Finished(decided()))
    found = attributes(spans.only)
    assert found["rl_rewriter.action"] == "keywords"
    assert all(name.startswith("rl_rewriter.") for name in found)


@pytest.mark.parametrize("log_queries", ["hash", "none"])
@pytest.mark.parametrize("place", ["own", "current"])
def test_no_word_of_the_query_leaves_unless_that_is_wanted(
    spans: Spans, place: Any, log_queries: Any
) -> None:
    listener = OpenTelemetryListener(
        span=place, log_queries=log_queries, tracer_provider=spans.provider
    )
    with spans.tracer.start_as_current_span("outer"):
        listener(Finished(decided()))
    told = json.dumps(spans.rows)
    assert "money" not in told
    digest = private_text(QUESTION, "hash")
    assert (str(digest) in told) == (place == "own" and log_queries == "hash")


def test_a_tracer_that_records_nothing_costs_nothing_and_breaks_nothing() -> None:
    OpenTelemetryListener()(Finished(decided()))
    OpenTelemetryListener(span="current")(Finished(decided()))


def test_numbers_that_are_none_are_left_out(spans: Spans) -> None:
    listener = OpenTelemetryListener(tracer_provider=spans.provider, with_record=False)
    listener(Finished(decided(cost=float("nan")), n_documents=None, documents=None, seconds=-1.0))
    names = set(attributes(spans.only))
    assert not names & {"rl_rewriter.cost", "rl_rewriter.n_documents", "rl_rewriter.record"}


def test_a_decision_that_no_log_can_hold_is_traced_without_its_record(spans: Spans) -> None:
    OpenTelemetryListener(tracer_provider=spans.provider)(Finished(decided(cost=float("nan"))))
    found = attributes(spans.only)
    assert "rl_rewriter.record" not in found
    assert found["rl_rewriter.action"] == "keywords"


def test_a_copy_from_another_process_traces_globally() -> None:
    listener = OpenTelemetryListener(tracer_provider=TracerProvider(), log_queries="text")
    copy = pickle.loads(pickle.dumps(listener))
    copy(Finished(decided()))
    assert copy.log_queries == "text"


@pytest.mark.parametrize("settings", [{"span": "mine"}, {"log_queries": "all"}])
def test_unknown_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be"):
        OpenTelemetryListener(**settings)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"\[otel\]"):
        OpenTelemetryListener()


@pytest.mark.parametrize("tool", ["otel", "phoenix"])
@pytest.mark.parametrize("log_queries", ["text", "hash", "none"])
def test_an_exported_span_comes_back_with_its_propensity(
    spans: Spans, tmp_path: Path, tool: str, log_queries: Any
) -> None:
    listener = OpenTelemetryListener(tracer_provider=spans.provider, log_queries=log_queries)
    listener(Finished(decided()))
    found = import_rows(tmp_path, tool, spans.rows, log_queries=log_queries)
    logged = json.loads(json.dumps(decision_record(decided(), DOCUMENTS, log_queries=log_queries)))
    tags = found.decision.pop("tags")
    assert {**found.decision, "tags": {}} == logged
    assert found.decision["propensity"] == 0.3
    assert found.report.with_propensity == found.report.to_json()["with_propensity"] == 1
    assert tags["session_id"] == "s1"


def test_importing_makes_words_private_again(spans: Spans, tmp_path: Path) -> None:
    listener = OpenTelemetryListener(tracer_provider=spans.provider, log_queries="text")
    listener(Finished(decided()))
    found = import_rows(tmp_path, "otel", spans.rows, log_queries="hash")
    assert "money" not in found.log.read_text()
    assert found.decision["query"] == private_text(QUESTION, "hash")


@pytest.mark.parametrize("name", ["RewritingRetriever", "EnsembleRetriever"])
def test_around_a_retriever_of_the_framework_it_counts_once(
    spans: Spans, tmp_path: Path, name: str
) -> None:
    listener = OpenTelemetryListener(tracer_provider=spans.provider)
    kind = {"openinference.span.kind": "RETRIEVER", "input.value": QUESTION}
    with spans.tracer.start_as_current_span(name, attributes=kind):
        listener(Finished(decided()))
    inner, outer = spans.rows
    judged = {
        "span_id": outer["context"]["span_id"].removeprefix("0x"),
        "name": "thumb",
        "annotator_kind": "HUMAN",
        "result": {"score": 1.0},
    }
    found = import_rows(tmp_path, "phoenix", [inner, outer], [judged])
    assert found.decision["propensity"] == 0.3
    assert joined(found) == [("d1", [("thumb", 1.0)])]


def joined(found: Imported) -> list[tuple[str, list[tuple[str, float]]]]:
    return [
        (each.decision["id"], [(f.kind, f.value) for f in each.feedback])
        for each in read_interactions(found.log)
    ]


@pytest.mark.parametrize(
    "record", ["{", "[]", '{"schema": 1}', '{"schema": 1, "type": "feedback"}', "[" * 100_000]
)
def test_a_record_that_is_none_leaves_an_observed_retrieval(
    spans: Spans, tmp_path: Path, record: str
) -> None:
    given = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": QUESTION,
        "rl_rewriter.record": record,
    }
    with spans.tracer.start_as_current_span("x", attributes=given):
        pass
    found = import_rows(tmp_path, "otel", spans.rows)
    assert found.decision["propensity"] is None
