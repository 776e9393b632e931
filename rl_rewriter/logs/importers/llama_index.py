"""LlamaIndex: dumps of retrieval events, one a line (``event.model_dump_json()``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rl_rewriter.logs.importers.documents import documents_in
from rl_rewriter.logs.importers.found import OWN_RETRIEVER, Found, Noted, Skipped, Step
from rl_rewriter.logs.importers.questions import question_in
from rl_rewriter.logs.importers.scalars import mapping_of, name_of, seconds_of, session_in

_TRACES = ("trace_id", "run_id", "request_id")


class _Started(NamedTuple):
    """A retrieval that has not ended yet."""

    time: float | None
    parent: str


class LlamaIndex:
    """A RetrievalEndEvent becomes a decision; its start event tells how long it took.

    Events carry no parent. Where their tags name a request (``trace_id``, ``run_id`` or
    ``request_id``, set by ``instrument_tags``), a retrieval that starts within another of the same
    request belongs to that one. Without such tags, retrievals that overlap are all imported, and
    counted: they may be nested or concurrent. The event's times have no zone; they are read as UTC.
    """

    tool = "llama-index"

    def __init__(self) -> None:
        self._started: dict[str, _Started] = {}
        self._open: dict[str, list[str]] = {}

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is an event of the instrumentation."""
        return "span_id" in row and ("id_" in row or "str_or_query_bundle" in row)

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """The retrieval, when it ends."""
        if "str_or_query_bundle" not in row:
            return (Skipped("event of another kind"),)
        span = name_of(row.get("span_id"))
        if not span:
            return (
                Skipped(
                    "retrieval event without a span_id", "is a retrieval event without a span_id"
                ),
            )
        return self._ended(row, span) if "nodes" in row else self._begun(row, span)

    def close(self) -> Iterable[Found]:
        """Retrievals that started and never ended."""
        return (Skipped("retrieval that never ended") for _ in self._started)

    def _begun(self, row: Mapping[str, Any], span: str) -> Iterator[Found]:
        if span in self._started:
            yield Skipped("repeated start event")
            return
        trace = _trace(row)
        around = self._open.get(trace, [])
        if not trace and self._started:
            yield Noted("retrievals that overlap another (nested or concurrent)")
        self._started[span] = _Started(
            seconds_of(row.get("timestamp")), around[-1] if around else ""
        )
        if trace:
            self._open.setdefault(trace, []).append(span)

    def _ended(self, row: Mapping[str, Any], span: str) -> Iterator[Found]:
        started = self._started.pop(span, None) or _Started(None, "")
        trace = _trace(row)
        if span in (still_open := self._open.get(trace, [])):
            still_open.remove(span)
            if not still_open:
                del self._open[trace]
        documents, n_hashed = documents_in(row.get("nodes"))
        question, history_len = question_in(_text(row.get("str_or_query_bundle")))
        yield Step(
            id=span,
            trace=trace or span,
            parent=started.parent,
            is_retrieval=True,
            question=question,
            history_len=history_len,
            documents=documents,
            n_hashed=n_hashed,
            start=started.time,
            end=seconds_of(row.get("timestamp")),
            session=session_in(row.get("tags")),
            is_own=span.startswith(f"{OWN_RETRIEVER}."),
        )


def _text(bundle: Any) -> Any:
    return bundle.get("query_str") if isinstance(bundle, dict) else bundle


def _trace(row: Mapping[str, Any]) -> str:
    tags = mapping_of(row.get("tags"))
    return next((name for key in _TRACES if (name := name_of(tags.get(key)))), "")
