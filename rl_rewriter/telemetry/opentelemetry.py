"""Each decision as a span of OpenTelemetry, in the conventions that Phoenix and Langfuse read."""

from __future__ import annotations

import time
from typing import Any, Literal, get_args

import rl_rewriter
from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.telemetry.attributes import (
    Value,
    merged,
    record_attribute,
    request_attributes,
    retrieval_attributes,
)
from rl_rewriter.telemetry.protocols import FinishedRequest

SPAN_NAME = "rl_rewriter.decision"
SpanPlace = Literal["own", "current"]


class OpenTelemetryListener:
    """Writes each finished request to a span; does next to nothing where nobody records spans.

    "own" makes a span of kind RETRIEVER below the current one, as long as our own time. It stands
    for itself: an export of such spans can be imported with its propensities
    (:mod:`rl_rewriter.logs.importers`). "current" adds the ``rl_rewriter.*`` attributes to the
    span that is current, which some instrumentation of the chain has opened, and makes none.

    Args:
        span: Where to write.
        log_queries: What spans say of queries and rewrites: "text" their words, "hash" a digest,
            "none" nothing. Give what the decision log has.
        with_record: Whether an own span carries the whole line of the decision log, some
            kilobytes, which is what importing it needs.
        tracer_provider: Who makes tracers; the global one by default. It isn't pickled.

    Raises:
        InputError: A setting is unknown.
        MissingExtraError: opentelemetry-api isn't installed.
    """

    def __init__(
        self,
        *,
        span: SpanPlace = "own",
        log_queries: QueryPrivacy = "hash",
        with_record: bool = True,
        tracer_provider: Any = None,
    ) -> None:
        if span not in get_args(SpanPlace):
            raise InputError(f'span must be "own" or "current", got {span!r}')
        if log_queries not in get_args(QueryPrivacy):
            raise InputError(f'log_queries must be "text", "hash" or "none", got {log_queries!r}')
        _trace()
        self.span = span
        self.log_queries: QueryPrivacy = log_queries
        self.with_record = with_record
        self._provider = tracer_provider
        self._tracer: Any = None

    def __call__(self, request: FinishedRequest) -> None:
        """Write one request."""
        if self.span == "current":
            current = _trace().get_current_span()
            if current.is_recording():
                current.set_attributes(request_attributes(request))
            return
        end = time.time_ns()
        span = self._tracer_once().start_span(
            SPAN_NAME, start_time=end - max(0, int(1e9 * request.seconds))
        )
        if span.is_recording():
            span.set_attributes(self._attributes(request))
        span.end(end)

    def _attributes(self, request: FinishedRequest) -> dict[str, Value]:
        return merged(
            retrieval_attributes(request, self.log_queries),
            request_attributes(request),
            record_attribute(request, self.log_queries) if self.with_record else {},
        )

    def _tracer_once(self) -> Any:
        if self._tracer is None:
            self._tracer = _trace().get_tracer(
                "rl_rewriter", rl_rewriter.__version__, tracer_provider=self._provider
            )
        return self._tracer

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: providers hold locks; a copy takes the global one."""
        return {**self.__dict__, "_provider": None, "_tracer": None}


def _trace() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        raise MissingExtraError("opentelemetry-api", "otel") from None
    return trace
