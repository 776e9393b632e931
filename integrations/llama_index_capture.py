"""Logs what unmodified LlamaIndex engines retrieve, as a start before anything is rewritten.

``CaptureHandler("decisions.jsonl").attach()``
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rl_rewriter.errors import MissingExtraError

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr

    # Re-exported there without saying so.
    from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    from llama_index.core.instrumentation.events.base import (  # type: ignore[attr-defined]
        BaseEvent,
    )
    from llama_index.core.instrumentation.events.retrieval import (
        RetrievalEndEvent,
        RetrievalStartEvent,
    )
    from llama_index.core.instrumentation.span import BaseSpan
    from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
    from llama_index.core.schema import NodeWithScore, QueryBundle
except ModuleNotFoundError as missing:
    raise MissingExtraError("llama-index-core", "llama-index") from missing

from rl_rewriter.integrations._capture import CaptureLog, OpenRun
from rl_rewriter.logs.importers.documents import Documents, text_name
from rl_rewriter.logs.importers.questions import question_in
from rl_rewriter.logs.importers.scalars import number_of, session_in
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.store import DecisionLog

__all__ = ["CaptureHandler"]

_OWN_MODULE = "rl_rewriter.integrations.llama_index"
_QUESTIONS = ("str_or_query_bundle", "message", "query", "query_bundle", "user_msg")
"""Arguments of query and chat engines that hold the user's words."""
_HISTORIES = ("chat_history",)


class CaptureHandler(BaseEventHandler):
    """An event handler that writes one decision for each retrieval, sync or async.

    The decision's id is the span id of the retriever. :meth:`attach` also follows spans, which
    events don't tell: a retriever that asks others (fusion) then counts once, a question that an
    engine rewrote has the action "captured:rewrite" with both texts, and what this package's own
    retriever or transform does is left to their log. Handed to ``add_event_handler`` alone, every
    retriever counts. There is no propensity: nobody drew what the engine did.

    The log is written by a thread of its own, so that neither one that fails nor one that hangs
    stops or slows an engine or its event loop: failures are counted in ``capture.failures``,
    decisions dropped while 1,000 wait in ``capture.dropped``, and both are warned of. The end of
    the process waits up to 5 seconds for what isn't written yet; :meth:`flush` waits for it before.

    Args:
        log: A decision log, or the file of one.
        log_queries: "text" keeps the words of queries, "hash" a digest, "none" nothing.
    """

    _capture: CaptureLog = PrivateAttr()
    _spans: _Spans = PrivateAttr()
    _dispatcher: Any = PrivateAttr(default=None)

    def __init__(
        self, log: DecisionLog | str | Path, *, log_queries: QueryPrivacy | None = None
    ) -> None:
        super().__init__()
        self._capture = CaptureLog(log, "llama-index", log_queries)
        self._spans = _Spans(self._capture)

    @classmethod
    def class_name(cls) -> str:
        """Name among handlers."""
        return "CaptureHandler"

    @property
    def capture(self) -> CaptureLog:
        """Counts of what was captured, left to others, and failed."""
        return self._capture

    def attach(self, dispatcher: Any = None) -> CaptureHandler:
        """Listen to a dispatcher, by default to the root, which hears everything."""
        self._dispatcher = dispatcher or get_dispatcher()
        self._dispatcher.add_event_handler(self)
        self._dispatcher.add_span_handler(self._spans)
        return self

    def detach(self) -> None:
        """Listen no longer."""
        if self._dispatcher is not None:
            self._dispatcher.event_handlers.remove(self)
            self._dispatcher.span_handlers.remove(self._spans)
            self._dispatcher = None

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Keep the start of a retrieval; log it at its end."""
        try:
            if isinstance(event, RetrievalStartEvent):
                self._begun(event)
            elif isinstance(event, RetrievalEndEvent):
                self._ended(event)
        except Exception as error:  # the dispatcher would drop it without a word
            self._capture.failed(error)

    def feedback(
        self,
        span_id: str,
        value: float,
        kind: str = "thumb",
        *,
        position: int | None = None,
        document_id: str | None = None,
    ) -> None:
        """Append an outcome, now or later, under the retriever's span id or a tag's trace id.

        Args:
            span_id: The span of the retrieval; or the ``trace_id`` or ``run_id`` that
                ``instrument_tags`` gave to it.
            value: The outcome, on the scale of ``kind``.
            kind: What was observed.
            position: Rank of the document it is about, from 0.
            document_id: Id of that document.

        Raises:
            InputError: The value is no finite number.
        """
        self._capture.feedback(span_id, value, kind, position=position, document_id=document_id)

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until the log holds what was captured, as the end of the process does.

        Args:
            seconds: How long at most; None for as long as it takes.

        Returns:
            Whether nothing waits any more.
        """
        return bool(self._capture.flush(seconds))

    def _begun(self, event: RetrievalStartEvent) -> None:
        name = event.span_id or event.id_
        run = self._capture.runs.get(name)
        if run is None:  # spans aren't followed
            run = OpenRun(name, "")
        run.is_retrieval, run.question = True, (_words(event.str_or_query_bundle), 0)
        run.tags = _tags(event.tags)
        self._capture.runs.open(run)

    def _ended(self, event: RetrievalEndEvent) -> None:
        run = self._capture.runs.close(event.span_id or "")
        if run is not None and run.is_retrieval:
            self._capture.retrieved(run, _documents(event.nodes))


class _Spans(BaseSpanHandler[BaseSpan]):
    """Follows which span lies in which, and what each was asked."""

    _capture: CaptureLog = PrivateAttr()

    def __init__(self, capture: CaptureLog) -> None:
        super().__init__()
        self._capture = capture

    @classmethod
    def class_name(cls) -> str:
        """Name among handlers."""
        return "CaptureSpans"

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a run; the retrieval event makes it a retriever's."""
        try:
            is_retriever = isinstance(instance, BaseRetriever)
            question = (None, 0) if is_retriever else _question(bound_args.arguments)
            own = _is_own(instance)
            self._capture.runs.open(
                OpenRun(id_, parent_span_id or "", question=question, is_own=own)
            )
        except Exception as error:
            self._capture.failed(error)

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        result: Any = None,
        **kwargs: Any,
    ) -> None:
        """Forget the run."""
        self._capture.runs.close(id_)

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Forget the run: a retrieval that failed is no decision's outcome."""
        self._capture.runs.close(id_)


def _is_own(instance: Any) -> bool:
    """Whether this is a retriever of this package, or an engine with its query transform."""
    parts = (instance, getattr(instance, "_query_transform", None))
    return any(cls.__module__ == _OWN_MODULE for part in parts for cls in type(part).__mro__)


def _question(arguments: Mapping[str, Any]) -> tuple[str | None, int]:
    for name in _QUESTIONS:
        if name in arguments:
            words, _ = question_in(_words(arguments[name]))
            history = next((arguments[h] for h in _HISTORIES if arguments.get(h)), ())
            return words, len(history)
    return None, 0


def _words(asked: Any) -> str | None:
    """The text of a query in any of its forms; None where there is none."""
    if isinstance(asked, QueryBundle):
        asked = asked.query_str
    text = asked if isinstance(asked, str) else getattr(asked, "content", None)
    return text if isinstance(text, str) and text.strip() else None


def _tags(tags: Mapping[str, Any]) -> dict[str, Any]:
    joining = {name: tags[name] for name in ("run_id", "trace_id") if tags.get(name)}
    return {"session_id": session_in(dict(tags)), **joining}


def _documents(nodes: list[NodeWithScore]) -> Documents:
    return [
        (node.node.node_id or text_name(node.node.get_content()), number_of(node.score))
        for node in nodes
    ]
