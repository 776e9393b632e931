"""LangChain adapters: a step that rewrites the question, and a retriever around a retriever.

The decision's id is the run id of the step or of the retriever, so that feedback which names the
run (LangSmith's, a callback's) joins without a trace in the documents. ``last_decision.get()`` is
the latest decision of this thread or task where one of them was invoked directly; inside a chain,
steps run in contexts of their own: use the run id there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_rewriter.errors import InputError, MissingExtraError

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForChainRun,
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForChainRun,
        CallbackManagerForRetrieverRun,
    )
except ImportError as error:
    raise MissingExtraError("langchain-core", "langchain") from error
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig, RunnableSerializable, ensure_config
from pydantic import ConfigDict

from rl_rewriter.integrations._context import DECISION_ID, last_decision
from rl_rewriter.integrations._langchain_call import SETTINGS, Call, request_of, route_for, scored
from rl_rewriter.integrations._langchain_chroma import ChromaRoute
from rl_rewriter.integrations._langchain_events import adispatch_decision, dispatch_decision
from rl_rewriter.integrations._langchain_routes import Base
from rl_rewriter.integrations._serving import Request, number_of
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import RewriteDecision

__all__ = [
    "HistoryAwareRewritingRetriever",
    "QueryRewriteRunnable",
    "RewritingRetriever",
    "create_history_aware_rewriting_retriever",
    "last_decision",
]


class QueryRewriteRunnable(RunnableSerializable[str | dict[str, Any], str]):
    """Rewrites the question into one text, for any retriever: ``step | retriever``.

    The input is the question, or ``{"input": question, "chat_history": messages}``. Only actions
    that make one text are possible. Where the policy looks at what the question retrieves, the
    rewriter's own retriever is asked; without one, every question is kept
    ("fallback:missing_evidence").

    Attributes:
        rewriter: Who decides.
        explore: Draw the action from the policy's distribution.
    """

    rewriter: RLQueryRewriter
    explore: bool = False

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def invoke(
        self, input: str | dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        """The text to search for; ``history=`` gives earlier turns."""
        decisions: list[RewriteDecision] = []

        def rewrite(question: str | dict[str, Any], run_manager: CallbackManagerForChainRun) -> str:
            request = self._request(question, run_manager, config, **kwargs)
            with request.ticket:
                decision = request.within(_decided, lambda kept: kept)
                decision = request.record(decision, ()).decision
                request.ticket.finish(decision, None)
            dispatch_decision(decision, run_manager)
            decisions.append(decision)
            return str(decision.rewrite.text)

        text = self._call_with_config(rewrite, input, config)
        last_decision.set(decisions[0])
        return text

    async def ainvoke(
        self, input: str | dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        """As :meth:`invoke`; the event loop is free meanwhile."""
        decisions: list[RewriteDecision] = []

        async def rewrite(
            question: str | dict[str, Any], run_manager: AsyncCallbackManagerForChainRun
        ) -> str:
            request = self._request(question, run_manager, config, **kwargs)
            with request.ticket:
                decision = await request.awaited(_decided, lambda kept: kept)
                decision = (await request.arecord(decision, ())).decision
                await request.ticket.afinish(decision, None)
            await adispatch_decision(decision, run_manager)
            decisions.append(decision)
            return str(decision.rewrite.text)

        text = await self._acall_with_config(rewrite, input, config)
        last_decision.set(decisions[0])
        return text

    def _request(
        self,
        question: str | dict[str, Any],
        run: BaseRunManager,
        config: RunnableConfig | None,
        *,
        history: Any = None,
    ) -> Request:
        text: Any = question
        if isinstance(question, Mapping):
            text, history = _question(question), question.get("chat_history", history)
        settings = ensure_config(config)
        return request_of(self.rewriter, text, history, run, settings, explore=self.explore)


class RewritingRetriever(BaseRetriever):
    """Decides what to send to the wrapped retriever, sends it, and records what came back.

    ``invoke(query, history=messages)`` gives earlier turns; every other keyword argument is the
    wrapped retriever's. An untrained rewriter changes nothing. Where the wrapped retriever is a
    similarity search of ``langchain_chroma.Chroma``, actions on the vector and BM25 fusion are
    possible too, under its own filters; over another vector store, mixes of texts; over anything
    else, actions that make one text. MMR and score thresholds are left alone. An error of ours is
    never the chain's: the question is served as it was asked, and the decision's reason says why.

    Attributes:
        rewriter: Who decides.
        base_retriever: The wrapped retriever; never changed.
        tag_documents: Return copies of the documents with the decision's id in their metadata, as
            ``rl_rewriter_decision_id``.
        explore: Draw the action from the policy's distribution.
        k: Documents wanted; None leaves that to the wrapped retriever.
    """

    rewriter: RLQueryRewriter
    base_retriever: RetrieverLike
    tag_documents: bool = False
    explore: bool = False
    k: int | None = None

    def warm_up(self) -> bool:
        """Do now what the first question would wait for: open the BM25 index, embed, search.

        See :meth:`rl_rewriter.rewriter.RLQueryRewriter.warm_up`.
        """
        route = route_for(Base(self.base_retriever, {}, {}))
        retriever = route.retriever if isinstance(route, ChromaRoute) else None
        return bool(self.rewriter.warm_up(retriever))

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Documents for the question, best first."""
        return super().invoke(input, config, **_with_settings(config, kwargs))

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """As :meth:`invoke`; the event loop is free meanwhile."""
        return await super().ainvoke(input, config, **_with_settings(config, kwargs))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = self._call(query, run_manager, run_manager.get_child(), kwargs)
        request = call.request
        with request.ticket:
            search = call.prepare()
            try:
                documents = call.cut(call.invoked(search))
            except Exception as error:
                search = call.instead_of(search, error)
                documents = call.cut(call.invoked(search))
            found = scored(search, documents)
            recorded = request.record(search.decision, found or ())
            if recorded.is_void:
                search = call.base.search(recorded.decision)
                documents = call.cut(call.invoked(search))
                found = scored(search, documents)
            request.ticket.finish(recorded.decision, found)
        dispatch_decision(recorded.decision, run_manager, n_documents=number_of(found))
        return self._handed_over(request, recorded.decision, documents)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = self._call(query, run_manager, run_manager.get_child(), kwargs)
        request = call.request
        with request.ticket:
            search = await call.aprepare()
            try:
                documents = call.cut(await call.ainvoked(search))
            except Exception as error:
                search = call.instead_of(search, error)
                documents = call.cut(await call.ainvoked(search))
            found = scored(search, documents)
            recorded = await request.arecord(search.decision, found or ())
            if recorded.is_void:
                search = call.base.search(recorded.decision)
                documents = call.cut(await call.ainvoked(search))
                found = scored(search, documents)
            await request.ticket.afinish(recorded.decision, found)
        await adispatch_decision(recorded.decision, run_manager, n_documents=number_of(found))
        return self._handed_over(request, recorded.decision, documents)

    def _call(
        self, query: str, run: BaseRunManager, callbacks: Any, kwargs: dict[str, Any]
    ) -> Call:
        return Call.opened(
            self.rewriter,
            self.base_retriever,
            query,
            kwargs,
            callbacks=callbacks,
            run=run,
            explore=self.explore,
            k=self.k,
        )

    def _handed_over(
        self, request: Request, decision: RewriteDecision, documents: list[Document]
    ) -> list[Document]:
        last_decision.set(decision)
        if not self.tag_documents:
            return documents
        try:
            return [
                document.model_copy(
                    update={"metadata": {**document.metadata, DECISION_ID: decision.id}}
                )
                for document in documents
            ]
        except Exception as error:  # the wrapped retriever gave something else than documents
            request.ticket.untagged(error)
            return documents


class HistoryAwareRewritingRetriever(RunnableSerializable[dict[str, Any], list[Document]]):
    """``{"input": question, "chat_history": messages}`` to documents.

    Attributes:
        retriever: The retriever that reads the history.
    """

    retriever: RewritingRetriever

    def invoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Documents for the question, best first."""
        history = input.get("chat_history")
        return self.retriever.invoke(_question(input), config, history=history, **kwargs)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """As :meth:`invoke`; the event loop is free meanwhile."""
        history = input.get("chat_history")
        return await self.retriever.ainvoke(_question(input), config, history=history, **kwargs)


def create_history_aware_rewriting_retriever(
    rewriter: RLQueryRewriter, retriever: RetrieverLike, **settings: Any
) -> HistoryAwareRewritingRetriever:
    """Stand in for LangChain's ``create_history_aware_retriever``, without an LLM.

    Args:
        rewriter: Who decides.
        retriever: The retriever to wrap.
        settings: Further fields of :class:`RewritingRetriever`.

    Returns:
        A runnable from ``{"input": str, "chat_history": messages}`` (the history may be missing) to
        a list of documents.
    """
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=retriever, **settings)
    return HistoryAwareRewritingRetriever(retriever=wrapped)


def _decided(request: Request) -> RewriteDecision:
    decision: RewriteDecision = request.plan_text().decision
    return decision


def _question(values: Mapping[str, Any]) -> Any:
    if "input" not in values:
        raise InputError(f'the input needs the key "input", got: {", ".join(map(str, values))}')
    return values["input"]


def _with_settings(config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Add what a retriever's run would lose of its config: ``configurable``, the run id."""
    ensured = ensure_config(config)
    run_id = kwargs.get("run_id") or ensured.get("run_id")
    return {**kwargs, "run_id": run_id, SETTINGS: ensured}
