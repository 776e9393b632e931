"""Logs what an unmodified LangChain chain retrieves, as a start before anything is rewritten.

``chain.invoke(question, {"callbacks": [CaptureHandler("decisions.jsonl")]})``
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from rl_rewriter.errors import MissingExtraError

try:
    from langchain_core.callbacks import BaseCallbackHandler
except ImportError as error:
    raise MissingExtraError("langchain-core", "langchain") from error
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from rl_rewriter.integrations._capture import CaptureLog, OpenRun
from rl_rewriter.integrations._context import last_decision
from rl_rewriter.logs.importers.documents import documents_in
from rl_rewriter.logs.importers.found import OWN_RETRIEVER
from rl_rewriter.logs.importers.questions import question_in
from rl_rewriter.logs.importers.scalars import session_in
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.store import DecisionLog

__all__ = ["CaptureHandler"]

_OWN_STEP = "QueryRewriteRunnable"
_MAX_DEPTH = 3
"""Of an input no more levels are looked at: questions and messages lie near its surface."""

_CallbackT = TypeVar("_CallbackT", bound=Callable[..., None])


def _harmless(callback: _CallbackT) -> _CallbackT:
    """Keep what fails here away from the chain."""

    @functools.wraps(callback)
    def guarded(self: CaptureHandler, *args: Any, **kwargs: Any) -> None:
        try:
            callback(self, *args, **kwargs)
        except Exception as error:
            self.capture.failed(error)

    return guarded  # type: ignore[return-value]  # has the signature of what it wraps


class CaptureHandler(BaseCallbackHandler):
    """A callback handler that writes one decision for each retrieval, sync or async.

    The decision's id is the run id of the retriever; the trace's and the parent's are among its
    tags, so that feedback on any of the three finds it. Where the chain's input is known and the
    retriever searched something else, the action is "captured:rewrite", with both texts, else
    "keep". There is no propensity: nobody drew what the chain did. A retriever that asks others
    (fusion, several queries) counts once. A chain that holds this package's own retriever or
    rewriting step is left to their log.

    The log is written by a thread of its own, so that neither one that fails nor one that hangs
    stops or slows a chain: failures are counted in ``capture.failures``, decisions dropped while
    1,000 wait in ``capture.dropped``, and both are warned of. The end of the process waits up to 5
    seconds for what isn't written yet; :meth:`flush` waits for it before.

    Args:
        log: A decision log, or the file of one.
        log_queries: "text" keeps the words of queries, "hash" a digest, "none" nothing.
    """

    def __init__(
        self, log: DecisionLog | str | Path, *, log_queries: QueryPrivacy | None = None
    ) -> None:
        self.capture = CaptureLog(log, "langchain", log_queries)

    def feedback(
        self,
        run_id: UUID | str,
        value: float,
        kind: str = "thumb",
        *,
        position: int | None = None,
        document_id: str | None = None,
    ) -> None:
        """Append an outcome, now or later, under the run id of the retriever or of the chain.

        Args:
            run_id: The retriever's run, or the chain's, where the feedback is on its answer.
            value: The outcome, on the scale of ``kind``.
            kind: What was observed.
            position: Rank of the document it is about, from 0.
            document_id: Id of that document.

        Raises:
            InputError: The value is no finite number.
        """
        self.capture.feedback(str(run_id), value, kind, position=position, document_id=document_id)

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until the log holds what was captured, as the end of the process does.

        Args:
            seconds: How long at most; None for as long as it takes.

        Returns:
            Whether nothing waits any more.
        """
        return bool(self.capture.flush(seconds))

    @_harmless
    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Keep the input, which may hold the user's words."""
        self._open(run_id, kwargs, question=question_in(_plain(inputs)))

    @_harmless
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the run; what a rewriting step of ours handed on is remembered by its chain."""
        run = self.capture.runs.close(str(run_id))
        if run is not None and run.is_own and isinstance(outputs, str):
            outer = self.capture.runs.get(run.parent)
            if outer is not None:
                outer.own_texts.add(outputs)

    @_harmless
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the run."""
        self.capture.runs.close(str(run_id))

    @_harmless
    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Keep the input: an agent's retriever is called through a tool."""
        self._open(run_id, kwargs, question=question_in(_plain(kwargs.get("inputs") or input_str)))

    @_harmless
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the run."""
        self.capture.runs.close(str(run_id))

    @_harmless
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the run."""
        self.capture.runs.close(str(run_id))

    @_harmless
    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Keep the query, which the end of the run doesn't tell."""
        self._open(run_id, kwargs, question=(query, 0), is_retrieval=True)

    @_harmless
    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Log the retrieval."""
        run = self.capture.runs.close(str(run_id))
        if run is None:
            return
        decided = last_decision.get()
        run.is_own |= decided is not None and decided.id == run.id
        found, _ = documents_in([_as_row(document) for document in documents])
        self.capture.retrieved(run, found)

    @_harmless
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the run: a retrieval that failed is no decision's outcome."""
        self.capture.runs.close(str(run_id))

    def _open(
        self,
        run_id: UUID,
        told: Mapping[str, Any],
        *,
        question: tuple[str | None, int],
        is_retrieval: bool = False,
    ) -> None:
        metadata = told.get("metadata") or {}
        parent = told.get("parent_run_id")
        self.capture.runs.open(
            OpenRun(
                id=str(run_id),
                parent="" if parent is None else str(parent),
                is_retrieval=is_retrieval,
                question=question,
                tags={"session_id": session_in(metadata), "tags": list(told.get("tags") or ())},
                is_own=told.get("name") in (OWN_RETRIEVER, _OWN_STEP),
            )
        )


def _as_row(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "metadata": document.metadata,
        "page_content": document.page_content,
    }


def _plain(inputs: Any, depth: int = 0) -> Any:
    """An input with its messages as mappings, the form in which exports hold them."""
    if isinstance(inputs, BaseMessage):
        return {"type": inputs.type, "content": inputs.content}
    if depth < _MAX_DEPTH and isinstance(inputs, dict):
        return {key: _plain(value, depth + 1) for key, value in inputs.items()}
    if depth < _MAX_DEPTH and isinstance(inputs, list | tuple):
        return [_plain(item, depth + 1) for item in inputs]
    return inputs
