"""How a wrapped LangChain retriever can be searched, and what is invoked for a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams, RetrieverLike
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStoreRetriever

from rl_rewriter.caching.default import default_cache
from rl_rewriter.integrations._serving import Request
from rl_rewriter.policies.spending import OverBudgetError
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.retrieval.serving_embedder import ServingEmbedder
from rl_rewriter.types import Needs, Rewrite, RewriteDecision


@dataclass(frozen=True)
class Search:
    """What is invoked for a decision, as a child run.

    Attributes:
        runnable: The wrapped retriever, or what our search found in its place.
        text: What the run shows as its input.
        config: Callbacks and settings of the child run.
        kwargs: The caller's keyword arguments.
        decision: What is carried out.
        scores: Document id -> similarity, where our own search tells it.
    """

    runnable: RetrieverLike
    text: str
    config: RunnableConfig
    kwargs: Mapping[str, Any]
    decision: RewriteDecision
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_bases_own(self) -> bool:
        """Whether the wrapped retriever itself searches."""
        return not isinstance(self.runnable, ChildSearch)


@dataclass(frozen=True)
class Base:
    """The wrapped retriever with the config and the keyword arguments of one call."""

    runnable: RetrieverLike
    config: RunnableConfig
    kwargs: Mapping[str, Any]

    def search(self, decision: RewriteDecision) -> Search:
        """Invoke it with the decision's text."""
        return Search(self.runnable, decision.rewrite.text, self.config, self.kwargs, decision)

    def unwrapped(self) -> Base:
        """See through ``configurable_fields``, ``bind`` and ``with_config``, as ``invoke`` does."""
        runnable, config, kwargs = self.runnable, self.config, dict(self.kwargs)
        while True:
            if isinstance(runnable, DynamicRunnable):
                runnable, config = runnable.prepare(config)
            elif type(runnable) is RunnableBinding and not runnable.config_factories:
                config = merge_configs(runnable.config, config)
                kwargs = {**runnable.kwargs, **kwargs}
                runnable = runnable.bound
            else:
                return Base(runnable, config, kwargs)


class Route(Protocol):
    """One way to search."""

    def search(self, request: Request) -> Search:
        """Decide, search what is ours to search, and say what to invoke; this may block."""
        ...


@dataclass(frozen=True)
class LeftAlone:
    """No rewrite, for a reason."""

    base: Base
    problem: str

    def search(self, request: Request) -> Search:
        """The wrapped retriever with the question as it is."""
        problem = request.ticket.problem or self.problem
        return self.base.search(request.keep(problem))


@dataclass(frozen=True)
class TextRoute:
    """Hands the rewritten text to any retriever.

    Attributes:
        base: The wrapped retriever.
        filtered: Whether its search may be restricted, by its own settings or by the caller's.
    """

    base: Base
    filtered: bool

    def search(self, request: Request) -> Search:
        """The wrapped retriever, with the text of an action that needs nothing but text."""
        return self.base.search(request.plan_text(filtered=self.filtered).decision)


@dataclass(frozen=True)
class BlendRoute:
    """Also searches mixes of texts, by vector, in any vector store that can be searched so."""

    base: Base
    target: VectorStoreRetriever
    config: RunnableConfig
    search_kwargs: Mapping[str, Any]

    def search(self, request: Request) -> Search:
        """What the mixed vector finds; one text is left to the wrapped retriever."""
        filtered = restricts(self.search_kwargs)
        decision = request.plan_text(allowed=Needs.BLEND, filtered=filtered).decision
        if len(decision.rewrite.texts) == 1:
            return self.base.search(decision)
        try:
            request.ticket.meter.search_rewrite(decision.rewrite)
            documents = self._by_vector(decision.rewrite)
        except OverBudgetError as error:
            request.ticket.meter.not_served()
            return self.base.search(request.keep(error.reason))
        except Exception as error:
            request.ticket.meter.not_served()
            request.ticket.note("search", error)
            return self.base.search(request.keep("search"))
        child = child_search(self.target, documents)
        return Search(child, decision.rewrite.text, self.config, {}, decision)

    def _by_vector(self, rewrite: Rewrite) -> list[Document]:
        store = self.target.vectorstore
        embeddings = store.embeddings
        if embeddings is None:
            raise TypeError("the vector store has no embeddings")
        cache = default_cache()
        embedder = as_embedder(embeddings) if cache is None else ServingEmbedder(embeddings, cache)
        [vector] = resolve_vectors([rewrite], embedder.embed_queries)
        found = store.similarity_search_by_vector(vector.tolist(), **self.search_kwargs)
        if not all(isinstance(document, Document) for document in found):
            raise TypeError("the vector store found something that is no document")
        return found


class ChildSearch(BaseRetriever):
    """What our own search found, so that callbacks see it in the place of the wrapped one."""

    found: list[Document]
    ls_params: dict[str, Any]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.found

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.found

    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return cast(LangSmithRetrieverParams, self.ls_params)


def child_search(target: VectorStoreRetriever, found: list[Document]) -> ChildSearch:
    """Documents that run under the name, tags and metadata of ``target``."""
    return ChildSearch.model_construct(
        name=target.get_name(),
        tags=target.tags,
        metadata=target.metadata,
        found=found,
        ls_params=dict(target._get_ls_params()),
    )


def restricts(kwargs: Mapping[str, Any]) -> bool:
    """Whether keyword arguments may restrict a search: all but the number of documents may."""
    return bool(kwargs.keys() - {"k"})
