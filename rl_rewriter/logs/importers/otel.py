"""OpenTelemetry: GenAI retrieval spans and evaluation events, in old and new spellings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rl_rewriter.logs.importers.attributes import attribute, first_attribute, listed
from rl_rewriter.logs.importers.found import Found, Skipped, Step, Verdict
from rl_rewriter.logs.importers.openinference import (
    kind_of,
    openinference_verdicts,
    retrieval,
    retrieval_step,
)
from rl_rewriter.logs.importers.questions import NO_QUESTION, Question, question_in
from rl_rewriter.logs.importers.scalars import name_of
from rl_rewriter.logs.importers.spans import RawEvent, RawSpan, is_span, spans_in
from rl_rewriter.logs.importers.verdicts import verdict_of

_RETRIEVALS = frozenset({"retrieval", "retrieve", "retriever"})
_QUERIES = ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query")
_DOCUMENTS = "gen_ai.retrieval.documents"
_SESSIONS = ("gen_ai.conversation.id", "session.id")
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt", "input.value")
_EVALUATIONS = frozenset({"gen_ai.evaluation.result", "gen_ai.evaluation"})
_SCORES = ("gen_ai.evaluation.score.value", "gen_ai.evaluation.score")
_LABELS = ("gen_ai.evaluation.score.label", "gen_ai.evaluation.label")
_NAME = "gen_ai.evaluation.name"


class OpenTelemetry:
    """Spans of the operation "retrieval" become decisions, and OpenInference's as well.

    Evaluations are events of a span, log records, or spans of their own: these judge the span
    around them.
    """

    tool = "otel"

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is a span, a log record, or an OTLP message with some."""
        return is_span(row)

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """All spans and evaluations of the row."""
        for found in spans_in(row):
            if isinstance(found, RawEvent):
                yield from _evaluation(found)
            else:
                yield from _span(found)

    def close(self) -> Iterable[Found]:
        """Nothing is left over."""
        return ()


def _span(span: RawSpan) -> Iterator[Found]:
    if not _retrieves(span) and kind_of(span):
        yield retrieval_step(span)
        yield from openinference_verdicts(span)
    else:
        yield _step(span)
    for event in span.events:
        if event.name in _EVALUATIONS:
            yield from _evaluation(event)
    if attribute(span.attributes, _NAME) is not None:
        event = RawEvent("gen_ai.evaluation", span.parent, span.trace, span.end, span.attributes)
        yield from _evaluation(event)


def _retrieves(span: RawSpan) -> bool:
    """Whether the span is a retrieval in the GenAI conventions."""
    named = name_of(attribute(span.attributes, "gen_ai.operation.name"))
    operation = named or name_of(attribute(span.attributes, "gen_ai.span.kind"))
    return operation.lower() in _RETRIEVALS or any(
        name in span.attributes for name in (_DOCUMENTS, *_QUERIES)
    )


def _step(span: RawSpan) -> Step:
    session = name_of(first_attribute(span.attributes, _SESSIONS))
    if not _retrieves(span):
        question = question_in(first_attribute(span.attributes, _INPUTS))
        return Step(span.id, span.trace, span.parent, False, *question, session=session)
    asked = _query(first_attribute(span.attributes, _QUERIES), span)
    return retrieval(span, asked, listed(span.attributes, _DOCUMENTS), session)


def _query(query: Any, span: RawSpan) -> Question:
    if isinstance(query, str):
        return (query, 0) if query.strip() else NO_QUESTION
    return question_in(attribute(span.attributes, "input.value"))


def _evaluation(event: RawEvent) -> list[Found]:
    if event.name not in _EVALUATIONS:
        return [Skipped("log record")]
    if not event.span and not event.trace:
        return [Skipped("evaluation that names no span")]
    verdict = Verdict(
        name=name_of(attribute(event.attributes, _NAME)),
        value=0.0,
        span=event.span,
        trace=event.trace,
        time=event.time,
    )
    score = first_attribute(event.attributes, _SCORES)
    return verdict_of(verdict, score, first_attribute(event.attributes, _LABELS))
