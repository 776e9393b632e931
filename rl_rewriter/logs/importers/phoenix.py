"""Phoenix: OpenInference spans, flattened or nested, and annotations of spans and documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rl_rewriter.logs.importers.attributes import attribute
from rl_rewriter.logs.importers.found import Found, Skipped, Verdict
from rl_rewriter.logs.importers.openinference import openinference_verdicts, retrieval_step
from rl_rewriter.logs.importers.scalars import mapping_of, name_of, number_of, seconds_of
from rl_rewriter.logs.importers.spans import RawSpan, is_span, spans_in
from rl_rewriter.logs.importers.verdicts import verdict_of


class Phoenix:
    """Spans of kind RETRIEVER become decisions; annotations join by span, or by trace.

    An annotation of a document carries its position: its feedback names that document.
    """

    tool = "phoenix"

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is a span or an annotation."""
        return _is_annotation(row) or is_span(row)

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """The annotation; or the spans with the annotations among their attributes."""
        return _annotation(row) if _is_annotation(row) else _spans(row)

    def close(self) -> Iterable[Found]:
        """Nothing is left over."""
        return ()


def _spans(row: Mapping[str, Any]) -> Iterator[Found]:
    for span in spans_in(row):
        if isinstance(span, RawSpan):
            yield retrieval_step(span)
            yield from openinference_verdicts(span)
        else:
            yield Skipped("log record")


def _is_annotation(row: Mapping[str, Any]) -> bool:
    """Whether a row judges a span, a document or a trace.

    The tables of the evaluation helpers have no more than span, score and label.
    """
    if "annotator_kind" in row or "document_position" in row:
        return True
    has_verdict = any(key in row for key in ("score", "label", "result", "result.score"))
    return has_verdict and "start_time" not in row and bool(_span_of(row))


def _annotation(row: Mapping[str, Any]) -> list[Found]:
    result = mapping_of(row.get("result"))
    span = _span_of(row)
    trace = name_of(row.get("trace_id"))
    if not span and not trace:
        return [Skipped("feedback on a whole session or experiment")]
    score = _first(result.get("score"), row.get("result.score"), row.get("score"))
    label = _first(result.get("label"), row.get("result.label"), row.get("label"))
    name = name_of(row.get("name")) or name_of(row.get("annotation_name")) or "annotation"
    verdict = Verdict(
        name=name,
        value=0.0,
        span=span,
        trace=trace,
        time=seconds_of(_first(row.get("created_at"), row.get("updated_at"))),
    )
    if (given := row.get("document_position")) is None:
        return verdict_of(verdict, score, label)
    position = number_of(given)
    if position is None or position < 0 or position != int(position):
        problem = f"has the document_position {given!r:.40}, which is no rank from 0"
        return [Skipped("document annotation without a position", problem)]
    return verdict_of(verdict._replace(position=int(position)), score, label)


def _span_of(row: Mapping[str, Any]) -> str:
    return name_of(row.get("span_id")) or name_of(attribute(row, "context.span_id"))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
