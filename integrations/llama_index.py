"""LlamaIndex adapters: a retriever around a retriever, and a query transform.

``last_decision.get()`` is the latest decision of this thread or task; its id joins feedback to it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import uuid
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
from rl_rewriter.integrations._llama_index_history import (
    History,
    aread_history,
    chat_history,
    check_memory,
    read_history,
)
from rl_rewriter.integrations._llama_index_nodes import as_documents, tagged
from rl_rewriter.integrations._llama_index_route import Target, aretrieve, left_alone, with_text
from rl_rewriter.integrations._serving import Request
from rl_rewriter.policies.retrieving import is_kept
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import Query, RewriteDecision

__all__ = [
    "DECISION_ID",
    "QueryRewriteTransform",
    "RewritingRetriever",
    "chat_history",
    "last_decision",
]

_logger = logging.getLogger(__name__)


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
        question = query_bundle.query_str
        turns, problem = read_history(None, question)
        request = Request(self._rewriter, Query(question, turns), problem=problem)
        decision = request.plan_text().decision
        last_decision.set(decision)
        request.record(decision, ())
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
        request: The question.
        decision: What was decided.
        target: The retriever to call, and what to call it with.
        original: The query as it was asked; None where ``target`` is just that.
    """

    request: Request
    decision: RewriteDecision
    target: Target
    original: Target | None = None

    def instead(self, error: Exception) -> _Search:
        """The query as it was asked.

        Raises:
            Exception: ``error`` itself, where that was the search already.
        """
        if self.original is None or isinstance(error, MemoryError):
            raise error
        _logger.warning("query kept (fallback:search): %s", type(error).__name__)
        return _Search(self.request, self.request.keep("search"), self.original)


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

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        history = read_history(self._memory, query_bundle.query_str)
        search = self._prepare(query_bundle, history)
        try:
            nodes = _called(search.target)
        except Exception as error:
            search = search.instead(error)
            nodes = _called(search.target)
        search.request.record(search.decision, as_documents(nodes))
        return self._handed_over(search.decision, nodes)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        history = await aread_history(self._memory, query_bundle.query_str)
        search = await asyncio.to_thread(self._prepare, query_bundle, history)
        try:
            nodes = await aretrieve(search.target)
        except Exception as error:
            search = search.instead(error)
            nodes = await aretrieve(search.target)
        if self._rewriter.log is not None:
            await asyncio.to_thread(search.request.record, search.decision, as_documents(nodes))
        return self._handed_over(search.decision, nodes)

    def _prepare(self, bundle: QueryBundle, history: History) -> _Search:
        """Decide, and say what to call; whatever fails here leads to the query as asked."""
        turns, problem = history
        query = Query(bundle.query_str, turns)
        request = Request(self._rewriter, query, uuid.uuid4().hex, self._explore, problem)
        route, decision = left_alone(self._retriever, "adapter"), None
        try:
            if self._rewriter.checkpoint is not None:
                route = find_route(self._retriever, self._rewriter, bundle)
            decision = route.plan(request).decision
            target = route.target(decision, bundle)
        except Exception as error:
            problem = "adapter" if decision is None else "search"
            _logger.warning("query kept (fallback:%s): %s", problem, type(error).__name__)
            _logger.debug("query kept", exc_info=True)
            return _Search(request, request.keep(problem), route.original(bundle))
        original = None if is_kept(decision) else route.original(bundle)
        return _Search(request, decision, target, original)

    def _handed_over(
        self, decision: RewriteDecision, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        last_decision.set(decision)
        return [tagged(node, decision.id) for node in nodes] if self._tag_documents else nodes

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


def _called(target: Target) -> list[NodeWithScore]:
    retriever, bundle = target
    nodes: list[NodeWithScore] = retriever.retrieve(bundle)
    return nodes
