"""Langfuse: observations, traces and scores, from the API, the interface or a blob export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rl_rewriter.logs.importers.documents import documents_in
from rl_rewriter.logs.importers.found import OWN_RETRIEVER, Found, Noted, Skipped, Step, Verdict
from rl_rewriter.logs.importers.questions import NO_QUESTION, question_in
from rl_rewriter.logs.importers.scalars import mapping_of, name_of, seconds_of, session_in
from rl_rewriter.logs.importers.traces import trace_step
from rl_rewriter.logs.importers.verdicts import NO_NUMBER, verdict_of

_RETRIEVAL_NAME = re.compile(r"retriev|vector.?(store|search)|similarity.?search", re.IGNORECASE)
_WITHOUT_QUESTION = frozenset({"GENERATION", "EMBEDDING", "EVENT", "EVALUATOR", "GUARDRAIL"})
_IN_EXPORTS = {
    "configId": "config_id",
    "createdAt": "created_at",
    "dataType": "data_type",
    "endTime": "end_time",
    "observationId": "observation_id",
    "parentObservationId": "parent_observation_id",
    "sessionId": "session_id",
    "startTime": "start_time",
    "stringValue": "string_value",
    "traceId": "trace_id",
}
_NOT_NUMBERS = frozenset({"TEXT", "CORRECTION"})


class Langfuse:
    """Observations of type RETRIEVER become decisions, and spans that look like retrievals.

    Names are spelt ``traceId`` by the API and ``trace_id`` by exports: both are read.
    """

    tool = "langfuse"

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is an observation, a trace or a score of Langfuse."""
        return _is_score(row) or _is_observation(row) or _is_trace(row)

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """The observation or the score; a trace with all its observations and scores."""
        if _is_score(row):
            return _score(row)
        return _observation(row) if _is_observation(row) else _trace(row)

    def close(self) -> Iterable[Found]:
        """Nothing is left over."""
        return ()


def _get(row: Mapping[str, Any], name: str) -> Any:
    """A field by its name in the API, else by its name in exports."""
    return value if (value := row.get(name)) is not None else row.get(_IN_EXPORTS[name])


def _is_score(row: Mapping[str, Any]) -> bool:
    if "name" not in row or "type" in row or "input" in row:
        return False
    return any(key in row for key in ("value", "stringValue", "string_value"))


def _is_observation(row: Mapping[str, Any]) -> bool:
    return "type" in row and _get(row, "startTime") is not None and _get(row, "traceId") is not None


def _is_trace(row: Mapping[str, Any]) -> bool:
    return "id" in row and "timestamp" in row and _get(row, "traceId") is None


def _trace(row: Mapping[str, Any]) -> Iterator[Found]:
    id_ = name_of(row.get("id"))
    if not id_:
        yield Skipped("trace without an id", "is a trace without an id")
        return
    question = question_in(row.get("input"))
    session = name_of(_get(row, "sessionId")) or session_in(row.get("metadata"))
    yield Step(trace_step(id_), id_, "", False, *question, session=session)
    for key, read in (("observations", _observation), ("scores", _score)):
        inner = row.get(key)
        for element in inner if isinstance(inner, list) else ():
            if isinstance(element, dict):  # lists of ids only name what is elsewhere
                yield from read({"traceId": id_, **element})


def _observation(row: Mapping[str, Any]) -> Iterator[Found]:
    id_, trace = name_of(row.get("id")), name_of(_get(row, "traceId"))
    parent = name_of(_get(row, "parentObservationId")) or (trace_step(trace) if trace else "")
    session = name_of(_get(row, "sessionId")) or session_in(row.get("metadata"))
    kind, name = name_of(row.get("type")).upper(), name_of(row.get("name"))
    documents, n_hashed = None, 0
    if kind in ("RETRIEVER", "SPAN"):
        documents, n_hashed = documents_in(row.get("output"))
    looks_like_one = kind == "SPAN" and bool(documents) and bool(_RETRIEVAL_NAME.search(name))
    if kind != "RETRIEVER" and not looks_like_one:
        question = NO_QUESTION if kind in _WITHOUT_QUESTION else question_in(row.get("input"))
        yield Step(id_, trace, parent, False, *question, session=session)
        return
    if looks_like_one:
        yield Noted("spans read as retrievals by their name and output")
    yield Step(
        id_,
        trace,
        parent,
        True,
        *question_in(row.get("input")),
        documents=documents,
        n_hashed=n_hashed,
        start=seconds_of(_get(row, "startTime")),
        end=seconds_of(_get(row, "endTime")),
        session=session,
        failure="retrieval that failed" if name_of(row.get("level")).upper() == "ERROR" else "",
        is_own=name == OWN_RETRIEVER,
    )


def _score(row: Mapping[str, Any]) -> list[Found]:
    subject = mapping_of(row.get("subject"))
    kind, target = name_of(subject.get("kind")), name_of(subject.get("id"))
    span, trace = name_of(_get(row, "observationId")), name_of(_get(row, "traceId"))
    if kind == "observation":
        span, trace = target, name_of(_get(subject, "traceId"))
    elif kind == "trace":
        trace = target
    if not span and not trace:
        return [Skipped("feedback on a whole session or experiment")]
    verdict = Verdict(name_of(row.get("name")), 0.0, span, trace, seconds_of(_time(row)))
    value, label = row.get("value"), _get(row, "stringValue")
    data_type = name_of(_get(row, "dataType")).upper()
    if data_type in _NOT_NUMBERS:
        return [Skipped(NO_NUMBER)]
    if data_type == "CATEGORICAL" and not name_of(_get(row, "configId")):
        # Without a score config every category has the number 0: only the word means something.
        return verdict_of(verdict, None, label or value)
    return verdict_of(verdict, value, label or value)


def _time(row: Mapping[str, Any]) -> Any:
    return row.get("timestamp") or _get(row, "createdAt")
