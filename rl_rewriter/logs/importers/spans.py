"""Spans in any of the envelopes of OpenTelemetry: OTLP JSON, an SDK's dump, Phoenix's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rl_rewriter.logs.importers.attributes import Attributes, attribute, attributes_of
from rl_rewriter.logs.importers.scalars import mapping_of, name_of, seconds_of

_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_SCOPES = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "scopeLogs",
    "scope_logs",
)
_LEAVES = ("spans", "logRecords", "log_records")
_SPAN_IDS = ("spanId", "span_id", "context.span_id")
_TRACE_IDS = ("traceId", "trace_id", "context.trace_id")
_PARENT_IDS = ("parentSpanId", "parent_span_id", "parent_id", "parentId")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
_EVENT_TIMES = (
    "timeUnixNano",
    "time_unix_nano",
    "timestamp",
    "observedTimeUnixNano",
    "observed_timestamp",
)
_FAILED = frozenset({"2", "error", "status_code_error"})


class RawEvent(NamedTuple):
    """An event of a span, or a log record that stands for one."""

    name: str
    span: str
    trace: str
    time: float | None
    attributes: Attributes


class RawSpan(NamedTuple):
    """A span before anyone looks at what its attributes mean."""

    id: str
    trace: str
    parent: str
    name: str
    kind: str
    start: float | None
    end: float | None
    failed: bool
    attributes: Attributes
    events: tuple[RawEvent, ...]


def is_span(row: Mapping[str, Any]) -> bool:
    """Whether a row looks like a span, or like an OTLP message that holds some."""
    if any(key in row for key in (*_RESOURCES, *_SCOPES)):
        return True
    return bool(_id(row, _SPAN_IDS) and _id(row, _TRACE_IDS))


def spans_in(row: Mapping[str, Any]) -> Iterator[RawSpan | RawEvent]:
    """All spans and log records of a row."""
    for key in _RESOURCES:
        for resource in _objects(row.get(key)):
            yield from spans_in(resource)
    for key in _SCOPES:
        for scope in _objects(row.get(key)):
            for leaf in _LEAVES:
                for inner in _objects(scope.get(leaf)):
                    yield _span(inner) if leaf == "spans" else _event(inner, "", "")
    if _id(row, _SPAN_IDS) and any(key in row for key in _STARTS):
        yield _span(row)
    elif _id(row, _TRACE_IDS) and (row.get("event_name") or row.get("eventName")):
        yield _event(row, "", "")


def _span(row: Mapping[str, Any]) -> RawSpan:
    span, trace = _id(row, _SPAN_IDS), _id(row, _TRACE_IDS)
    attributes = attributes_of(row.get("attributes"))
    if not attributes:  # a table, whose columns are the attributes
        prefix = "attributes."
        attributes = {k[len(prefix) :]: v for k, v in row.items() if k.startswith(prefix)}
    return RawSpan(
        id=span,
        trace=trace,
        parent=_id(row, _PARENT_IDS),
        name=name_of(row.get("name")),
        kind=name_of(row.get("span_kind")).upper(),
        start=_time(row, _STARTS),
        end=_time(row, _ENDS),
        failed=_has_failed(row),
        attributes=attributes,
        events=tuple(_event(event, span, trace) for event in _objects(row.get("events"))),
    )


def _event(row: Mapping[str, Any], span: str, trace: str) -> RawEvent:
    attributes = attributes_of(row.get("attributes"))
    names = (row.get("eventName"), row.get("event_name"), row.get("name"))
    name = next((n for n in map(name_of, names) if n), "")
    return RawEvent(
        name=name or name_of(attribute(attributes, "event.name")),
        span=span or _id(row, _SPAN_IDS),
        trace=trace or _id(row, _TRACE_IDS),
        time=_time(row, _EVENT_TIMES),
        attributes=attributes,
    )


def _id(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """An id under one of several names; a context's is inside it; 0x and all zeros mean nothing."""
    for name in names:
        if found := name_of(attribute(row, name)).removeprefix("0x"):
            return found if found.strip("0") else ""
    return ""


def _time(row: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    for name in names:
        if (found := seconds_of(row.get(name))) is not None:
            return found
    return None


def _has_failed(row: Mapping[str, Any]) -> bool:
    status = mapping_of(row.get("status"))
    codes = (row.get("status_code"), status.get("code"), status.get("status_code"))
    return any(name_of(code).lower() in _FAILED for code in codes)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (element for element in value if isinstance(element, dict))
