"""One call of the wrapping retriever: choose the route, decide, fall back, record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from rl_rewriter.integrations._langchain_chroma import chroma_route, is_plain_chroma
from rl_rewriter.integrations._langchain_nested import is_restricted
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
from rl_rewriter.types import Query, ScoredDocument

SETTINGS = "rl_rewriter_settings"
"""Keyword under which the caller's config reaches the retriever's own method."""
_PASSED_ON = ("configurable", "max_concurrency", "recursion_limit")


@dataclass(frozen=True)
class Call:
    """One question to a wrapped retriever.

    Attributes:
        request: The question.
        base: The wrapped retriever, as it would be invoked without us.
        limit: Documents wanted, also of a retriever that can't be told; None for all it returns.
        is_heard: Whether a callback may hear of child runs.
    """

    request: Request
    base: Base
    limit: int | None
    is_heard: bool = True

    @classmethod
    def opened(
        cls,
        rewriter: RLQueryRewriter,
        retriever: RetrieverLike,
        query: str,
        kwargs: Mapping[str, Any],
        *,
        callbacks: Any,
        run: BaseRunManager,
        explore: bool,
        k: int | None,
    ) -> Call:
        """Take apart what the caller gave: the history is ours, all else is the retriever's."""
        forwarded = dict(kwargs)
        history, settings = forwarded.pop("history", None), forwarded.pop(SETTINGS, {})
        config = cast(RunnableConfig, {key: settings[key] for key in _PASSED_ON if key in settings})
        config["callbacks"] = callbacks
        limit = k if "k" not in forwarded else None
        if limit is not None and _takes_arguments(retriever):
            forwarded["k"] = limit
        request = request_of(rewriter, query, history, run, settings, explore=explore)
        # A child run has the callbacks that it inherits, and those that every run has.
        is_heard = bool(run.handlers or run.inheritable_handlers)
        return cls(request, Base(retriever, config, forwarded), limit, is_heard)

    def prepare(self) -> Search:
        """Decide, and say what to invoke; whatever fails here leads to the question as asked."""
        return self.request.within(self._search, self.base.search)

    async def aprepare(self) -> Search:
        """As :meth:`prepare`; the event loop is free meanwhile."""
        return await self.request.awaited(self._search, self.base.search)

    def instead_of(self, search: Search, error: Exception) -> Search:
        """The question as asked, where a rewrite's search failed.

        Raises:
            Exception: ``error`` itself, where it is the wrapped retriever's own answer.
        """
        is_as_asked = search.text == self.request.query.text
        if isinstance(error, MemoryError) or (search.is_bases_own and is_as_asked):
            raise error
        self.request.ticket.note("search", error)
        return self.base.search(self.request.keep("search"))

    def cut(self, documents: list[Document]) -> list[Document]:
        """As many as are wanted; what is no list is the wrapped retriever's to answer for."""
        is_cut = self.limit is not None and isinstance(documents, list)
        return documents[: self.limit] if is_cut else documents

    def invoked(self, search: Search) -> list[Document]:
        """What a search finds, as a child run where anyone could hear of it."""
        if self._is_silent(search):
            return search.runnable.found  # type: ignore[no-any-return]  # a ChildSearch
        found: list[Document] = search.runnable.invoke(search.text, search.config, **search.kwargs)
        return found

    async def ainvoked(self, search: Search) -> list[Document]:
        """As :meth:`invoked`; the event loop is free meanwhile."""
        if self._is_silent(search):
            return search.runnable.found  # type: ignore[no-any-return]  # a ChildSearch
        invoked = search.runnable.ainvoke(search.text, search.config, **search.kwargs)
        found: list[Document] = await invoked
        return found

    def _is_silent(self, search: Search) -> bool:
        """Whether a child run would return what was found already, and nobody would know."""
        return not (self.is_heard or search.is_bases_own or _has_callbacks(search.config))

    def _search(self, request: Request) -> Search:
        return route_for(self.base).search(request)


def scored(search: Search, documents: Any) -> list[ScoredDocument] | None:
    """Documents as the decision log takes them; None of what is no list of documents."""
    if not isinstance(documents, list):
        return None
    found = [document for document in documents if isinstance(document, Document)]
    try:
        return [ScoredDocument(name, search.scores.get(name)) for name in map(_name_of, found)]
    except Exception:  # they were made without validation, and hold something else than texts
        return None


def request_of(
    rewriter: RLQueryRewriter,
    query: Any,
    history: Any,
    run: BaseRunManager,
    config: Mapping[str, Any],
    *,
    explore: bool,
) -> Request:
    """A request under the run's id, with what joins later feedback to it: the run around it.

    Its conversation, and a seed for its exploration, are looked for in the run's metadata and in
    the config's ``configurable``.
    """
    ids = {"run_id": run.run_id, "parent_run_id": run.parent_run_id}
    return Request.opened(
        rewriter,
        Query(query),
        history,
        adapter="langchain",
        decision_id=str(run.run_id),
        explore=explore,
        told={**(config.get("configurable") or {}), **(run.metadata or {})},
        tags={name: str(value) for name, value in ids.items() if value is not None},
    )


def route_for(base: Base) -> Route:
    """How the wrapped retriever is searched."""
    inner = base.unwrapped()
    target = inner.runnable
    search_kwargs = {**(getattr(target, "search_kwargs", None) or {}), **inner.kwargs}
    if not isinstance(target, VectorStoreRetriever):
        return _by_text(base, search_kwargs)
    if target.search_type != "similarity":
        return LeftAlone(base, "search_type")
    if not _searches_plainly(target):
        return _by_text(base, search_kwargs)
    if is_plain_chroma(target.vectorstore):
        route = chroma_route(base, target, inner.config, search_kwargs)
        return route or LeftAlone(base, "search_kwargs")
    if _searchable_by_vector(target.vectorstore):
        return BlendRoute(base, target, inner.config, search_kwargs)
    return _by_text(base, search_kwargs)


def _by_text(base: Base, search_kwargs: Mapping[str, Any]) -> TextRoute:
    hidden = is_restricted(base.runnable, base.config.get("configurable"))
    return TextRoute(base, filtered=restricts(search_kwargs) or hidden)


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


def _has_callbacks(config: RunnableConfig) -> bool:
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        return bool(callbacks.handlers or callbacks.inheritable_handlers)
    return callbacks is not None


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
