"""LlamaIndex adapters: a retriever around a retriever, and a query transform.

``last_decision.get()`` is the latest decision of this thread or task; its id joins feedback to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rl_rewriter.errors import InputError, MissingExtraError

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
    from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
    from llama_index.core.schema import NodeWithScore, QueryBundle
except ModuleNotFoundError as missing:
    raise MissingExtraError("llama-index-core", "llama-index") from missing

from rl_rewriter.integrations._context import DECISION_ID, last_decision
from rl_rewriter.integrations._llama_index_bases import find_route
from rl_rewriter.integrations._llama_index_events import dispatch_decision
from rl_rewriter.integrations._llama_index_history import (
    aread,
    chat_history,
    chat_turns,
    check_memory,
    turns_of,
)
from rl_rewriter.integrations._llama_index_nodes import as_documents, tagged
from rl_rewriter.integrations._llama_index_request import request_of
from rl_rewriter.integrations._llama_index_route import Target, aretrieve, as_asked, with_text
from rl_rewriter.integrations._serving import Request, number_of
from rl_rewriter.policies.retrieving import is_kept
from rl_rewriter.policies.spending import OverBudgetError
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.serving.reasons import failure_of
from rl_rewriter.types import RewriteDecision

__all__ = [
    "DECISION_ID",
    "QueryRewriteTransform",
    "RewritingRetriever",
    "chat_history",
    "last_decision",
]


class QueryRewriteTransform(BaseQueryTransform):
    """Rewrites the query into one text, for TransformQueryEngine and TransformRetriever.

    Only actions that make one text are possible, and the LLM is asked the rewrite too; where that
    isn't wanted, :class:`RewritingRetriever` is the better place. Where the policy looks at what
    the query retrieves, the rewriter's own retriever is asked. Earlier turns come from
    :func:`chat_history`.

    Args:
        rewriter: Who decides.
    """

    def __init__(self, rewriter: RLQueryRewriter) -> None:
        super().__init__()
        self._rewriter = rewriter

    def _run(self, query_bundle: QueryBundle, metadata: dict[str, Any]) -> QueryBundle:
        request = request_of(self._rewriter, query_bundle.query_str, chat_turns())
        with request.ticket:
            decision = request.within(_decided, lambda kept: kept)
            decision = request.record(decision, ()).decision
            request.ticket.finish(decision, None)
        dispatch_decision(decision)
        last_decision.set(decision)
        if is_kept(decision):
            return dataclasses.replace(query_bundle)
        rewritten: QueryBundle = with_text(query_bundle, decision.rewrite.text)
        return rewritten

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """There are none."""


@dataclass(frozen=True)
class _Search:
    """What is called for a request, and what is called where that fails.

    Attributes:
        decision: What was decided.
        target: The retriever to call, and what to call it with.
        original: The query as it was asked; None where ``target`` is just that.
    """

    decision: RewriteDecision
    target: Target
    original: Target | None = None

    def instead(self, request: Request, error: Exception) -> _Search:
        """The query as it was asked.

        Raises:
            Exception: ``error`` itself, where that was the search already.
        """
        if self.original is None or isinstance(error, MemoryError):
            raise error
        request.ticket.note("search", error)
        return _Search(request.keep("search"), self.original)


class RewritingRetriever(BaseRetriever):
    """Decides what to send to the wrapped retriever, sends it, and records what came back.

    An untrained rewriter changes nothing. Where the wrapped retriever is a VectorIndexRetriever
    over ChromaVectorStore, actions on the vector and BM25 fusion are possible too, under its own
    filters; over another vector store, mixes of texts; anything else gets actions that make one
    text. MMR and the like are left alone. An error of ours is never the chain's: the query is
    served as it was asked, and the decision's reason says why.

    Args:
        rewriter: Who decides.
        retriever: The wrapped retriever; never changed.
        memory: The chat engine's memory, or anything with ``get_all()`` or ``get()``: earlier turns
            are read from it at every call. :func:`chat_history` wins over it.
        tag_documents: Return copies of the nodes with the decision's id in their metadata, as
            ``rl_rewriter_decision_id``, unseen by the LLM and the embedding.
        explore: Draw the action from the policy's distribution.

    Raises:
        InputError: ``retriever`` is no retriever, or ``memory`` can't be read.
    """

    def __init__(
        self,
        rewriter: RLQueryRewriter,
        retriever: BaseRetriever,
        *,
        memory: Any = None,
        tag_documents: bool = False,
        explore: bool = False,
    ) -> None:
        if not isinstance(retriever, BaseRetriever):
            raise InputError(
                f"retriever must be a LlamaIndex retriever, not a {type(retriever).__name__}; "
                "an index gives one by index.as_retriever()"
            )
        check_memory(memory)
        self._rewriter = rewriter
        self._retriever = retriever
        self._memory = memory
        self._tag_documents = tag_documents
        self._explore = explore
        super().__init__(callback_manager=getattr(retriever, "callback_manager", None))

    def warm_up(self) -> bool:
        """Do now what the first query would wait for: open the BM25 index, embed, search.

        See :meth:`rl_rewriter.rewriter.RLQueryRewriter.warm_up`.
        """
        route = find_route(self._retriever, QueryBundle("warm up"))
        return bool(self._rewriter.warm_up(route.retriever))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        request = self._request(query_bundle, turns_of(self._memory))
        with request.ticket:
            search = request.within(*self._ways(query_bundle))
            try:
                nodes = _called(search.target)
            except Exception as error:
                search = search.instead(request, error)
                nodes = _called(search.target)
            found = as_documents(nodes)
            recorded = request.record(search.decision, found or ())
            if recorded.is_void:
                nodes = _called(search.original or search.target)
                found = as_documents(nodes)
            request.ticket.finish(recorded.decision, found)
        dispatch_decision(recorded.decision, n_documents=number_of(found))
        return self._handed_over(request, recorded.decision, nodes)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        request = self._request(query_bundle, None)
        with request.ticket:
            request = await aread(request, self._memory)
            search = await request.awaited(*self._ways(query_bundle))
            try:
                nodes = await aretrieve(search.target)
            except Exception as error:
                search = search.instead(request, error)
                nodes = await aretrieve(search.target)
            found = as_documents(nodes)
            recorded = await request.arecord(search.decision, found or ())
            if recorded.is_void:
                nodes = await aretrieve(search.original or search.target)
                found = as_documents(nodes)
            await request.ticket.afinish(recorded.decision, found)
        dispatch_decision(recorded.decision, n_documents=number_of(found))
        return self._handed_over(request, recorded.decision, nodes)

    def _request(self, bundle: QueryBundle, history: Any) -> Request:
        return request_of(self._rewriter, bundle.query_str, history, explore=self._explore)

    def _ways(
        self, bundle: QueryBundle
    ) -> tuple[Callable[[Request], _Search], Callable[[RewriteDecision], _Search]]:
        """How the query is searched, and how where that isn't possible in time."""
        base = self._retriever

        def search(request: Request) -> _Search:
            route = find_route(base, bundle)
            decision = route.plan(request).decision
            if failure_of(decision.reason):  # nothing that was found on the way is to be trusted
                return _Search(decision, as_asked(base, bundle))
            if is_kept(decision):
                target = route.original(bundle)
                request.ticket.meter.replaced = int(target[0] is not base)
                return _Search(decision, target)
            try:
                request.ticket.meter.search_rewrite(decision.rewrite)
                target = route.target(decision, bundle)
            except OverBudgetError as error:
                request.ticket.meter.not_served()
                return _Search(request.keep(error.reason), route.original(bundle))
            except Exception as error:
                request.ticket.meter.not_served()
                request.ticket.note("search", error)
                return _Search(request.keep("search"), route.original(bundle))
            return _Search(decision, target, route.original(bundle))

        return search, lambda kept: _Search(kept, as_asked(base, bundle))

    def _handed_over(
        self, request: Request, decision: RewriteDecision, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        last_decision.set(decision)
        if not self._tag_documents:
            return nodes
        try:
            return [tagged(node, decision.id) for node in nodes]
        except Exception as error:  # the wrapped retriever gave something else than nodes
            request.ticket.untagged(error)
            return nodes

    def _handle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """The wrapped retriever has followed its index nodes already."""
        return nodes

    async def _ahandle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """The wrapped retriever has followed its index nodes already."""
        return nodes

    def _get_prompt_modules(self) -> PromptMixinType:
        """Prompts of the wrapped retriever can be read and changed through this one."""
        return {"retriever": self._retriever}


def _decided(request: Request) -> RewriteDecision:
    decision: RewriteDecision = request.plan_text().decision
    return decision


def _called(target: Target) -> list[NodeWithScore]:
    retriever, bundle = target
    nodes: list[NodeWithScore] = retriever.retrieve(bundle)
    return nodes
