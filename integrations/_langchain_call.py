"""One call of the wrapping retriever: choose the route, decide, fall back, record."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from rl_rewriter.integrations._langchain_chroma import chroma_route, is_plain_chroma
from rl_rewriter.integrations._langchain_routes import (
    Base,
    BlendRoute,
    LeftAlone,
    Route,
    Search,
    TextRoute,
    restricts,
)
from rl_rewriter.integrations._serving import Request
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import ScoredDocument

_logger = logging.getLogger(__name__)

SETTINGS = "rl_rewriter_settings"
"""Keyword under which the caller's config reaches the retriever's own method."""
_CONVERSATION = ("session_id", "thread_id", "conversation_id")
_PASSED_ON = ("configurable", "max_concurrency", "recursion_limit")


@dataclass(frozen=True)
class Call:
    """One question to a wrapped retriever.

    Attributes:
        request: The question.
        base: The wrapped retriever, as it would be invoked without us.
        limit: Documents wanted, also of a retriever that can't be told; None for all it returns.
    """

    request: Request
    base: Base
    limit: int | None

    @classmethod
    def opened(
        cls,
        rewriter: RLQueryRewriter,
        retriever: RetrieverLike,
        query: str,
        kwargs: Mapping[str, Any],
        *,
        callbacks: Any,
        decision_id: str,
        explore: bool,
        k: int | None,
        tags: Mapping[str, str],
    ) -> Call:
        """Take apart what the caller gave: the history is ours, all else is the retriever's."""
        forwarded = dict(kwargs)
        history, settings = forwarded.pop("history", None), forwarded.pop(SETTINGS, {})
        config = cast(RunnableConfig, {key: settings[key] for key in _PASSED_ON if key in settings})
        config["callbacks"] = callbacks
        limit = k if "k" not in forwarded else None
        if limit is not None and _takes_arguments(retriever):
            forwarded["k"] = limit
        request = Request.opened(
            rewriter, query, history, decision_id=decision_id, explore=explore, tags=tags
        )
        return cls(request, Base(retriever, config, forwarded), limit)

    @property
    def is_decided(self) -> bool:
        """Whether there is a policy to ask."""
        return self.request.rewriter.checkpoint is not None

    @property
    def is_logged(self) -> bool:
        """Whether there is a decision log."""
        return self.request.rewriter.log is not None

    def prepare(self) -> Search:
        """Decide, and say what to invoke; whatever fails here leads to the question as asked."""
        if not self.is_decided:
            return self.base.search(self.request.keep("untrained"))
        try:
            route = route_for(self.base)
            return route.search(route.plan(self.request))
        except Exception as error:
            _logger.warning("query kept (fallback:adapter): %s", type(error).__name__)
            _logger.debug("query kept", exc_info=True)
            return self.base.search(self.request.keep("adapter"))

    def instead_of(self, search: Search, error: Exception) -> Search:
        """The question as asked, where a rewrite's search failed.

        Raises:
            Exception: ``error`` itself, where it is the wrapped retriever's own answer.
        """
        is_as_asked = search.text == self.request.query.text
        if isinstance(error, MemoryError) or (search.is_bases_own and is_as_asked):
            raise error
        _logger.warning("query kept (fallback:search): %s", type(error).__name__)
        _logger.debug("query kept", exc_info=True)
        return self.base.search(self.request.keep("search"))

    def record(self, search: Search, documents: Sequence[Document]) -> None:
        """Log the decision with the documents."""
        if not self.is_logged:
            return
        self.request.record(
            search.decision,
            [ScoredDocument(name, search.scores.get(name)) for name in map(_name_of, documents)],
        )


def tags_of(run: BaseRunManager) -> dict[str, str]:
    """What joins later feedback to this run: itself, the run around it, its conversation."""
    names = {"run_id": run.run_id, "parent_run_id": run.parent_run_id}
    told = {name: run.metadata[name] for name in _CONVERSATION if name in run.metadata}
    return {name: str(value) for name, value in {**names, **told}.items() if value is not None}


def route_for(base: Base) -> Route:
    """How the wrapped retriever is searched."""
    inner = base.unwrapped()
    target = inner.runnable
    search_kwargs = {**(getattr(target, "search_kwargs", None) or {}), **inner.kwargs}
    by_text = TextRoute(base, filtered=restricts(search_kwargs))
    if not isinstance(target, VectorStoreRetriever):
        return by_text
    if target.search_type != "similarity":
        return LeftAlone(base, "search_type")
    if not _searches_plainly(target):
        return by_text
    if is_plain_chroma(target.vectorstore):
        route = chroma_route(base, target, inner.config, search_kwargs)
        return route or LeftAlone(base, "search_kwargs")
    if _searchable_by_vector(target.vectorstore):
        return BlendRoute(base, target, inner.config, search_kwargs)
    return by_text


def _searches_plainly(target: VectorStoreRetriever) -> bool:
    """Whether a subclass of the vector store retriever adds nothing to the search."""
    return all(
        getattr(type(target), name) is getattr(VectorStoreRetriever, name)
        for name in ("invoke", "ainvoke", "_get_relevant_documents", "_aget_relevant_documents")
    )


def _searchable_by_vector(store: VectorStore) -> bool:
    """Whether a search by vector is there and belongs to the same class as the search by text.

    A subclass that changes only the search by text (to add a tenant's filter, say) is not bypassed.
    """
    owners = [
        next(cls for cls in type(store).__mro__ if name in vars(cls))
        for name in ("similarity_search", "similarity_search_by_vector")
    ]
    return owners[0] is owners[1] and owners[0] is not VectorStore and store.embeddings is not None


def _takes_arguments(retriever: RetrieverLike) -> bool:
    """Whether ``k`` can be handed on: a plain function wrapped as a runnable would fail on it."""
    while isinstance(retriever, RunnableBindingBase | DynamicRunnable):
        inner = getattr(retriever, "bound", None) or getattr(retriever, "default", None)
        retriever = cast(RetrieverLike, inner)
    return isinstance(retriever, BaseRetriever)


def _name_of(document: Document) -> str:
    """The document's id; where it has none, a digest of its text."""
    if document.id is not None:
        return document.id
    return hashlib.sha256(document.page_content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
