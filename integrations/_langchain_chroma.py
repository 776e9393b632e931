"""Vector and BM25 actions for LangChain retrievers over a Chroma vector store."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from rl_rewriter.caching.default import default_cache
from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.integrations._langchain_routes import Base, Search, child_search
from rl_rewriter.integrations._serving import Request
from rl_rewriter.policies.decider import Plan
from rl_rewriter.policies.retrieving import searched
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.over_chroma import serving_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.types import Filters, Ranking

DEFAULT_K = 4
"""Documents that ``langchain_chroma`` returns where nobody says how many."""
_SEARCH_METHODS = (
    "similarity_search",
    "asimilarity_search",
    "similarity_search_with_score",
    "embeddings",
    "_collection",
)


@dataclass(frozen=True)
class ChromaRoute:
    """Searches the collection by our own vectors, beside its BM25 index."""

    base: Base
    target: VectorStoreRetriever
    config: RunnableConfig
    k: int
    filters: Filters | None

    @property
    def retriever(self) -> Retriever:
        """What we search."""
        return _retrievers.over(self.target.vectorstore)

    def search(self, request: Request) -> Search:
        """What our search found; the wrapped retriever where it is to search the question.

        All actions are possible, on evidence of the filtered collection.
        """
        retriever, ticket = self.retriever, request.ticket
        ticket.meter.serves_first = True
        plan: Plan = request.plan_vector(retriever, self.k, self.filters)
        found, ranking = searched(plan, retriever, self.k, ticket.meter)
        if found is not plan:
            ticket.noted(found)
        decision = found.decision
        if ranking is None:
            return self.base.search(decision)
        child = child_search(self.target, _documents(ranking, self.target.vectorstore))
        scores = dict(zip(ranking.ids, np.asarray(ranking.scores).tolist(), strict=True))
        return Search(child, decision.rewrite.text, self.config, {}, decision, scores)


def chroma_route(
    base: Base, target: VectorStoreRetriever, config: RunnableConfig, kwargs: Mapping[str, Any]
) -> ChromaRoute | None:
    """The route for these search arguments; None where it couldn't honour one of them."""
    arguments = dict(kwargs)
    k = arguments.pop("k", DEFAULT_K)
    where, where_document = arguments.pop("filter", None), arguments.pop("where_document", None)
    restrictions = [where, where_document]
    if arguments or type(k) is not int or k < 1:
        return None
    if any(r is not None and not (isinstance(r, Mapping) and r) for r in restrictions):
        return None
    filters = Filters(where, where_document) if any(restrictions) else None
    return ChromaRoute(base, target, config, k, filters)


def is_plain_chroma(store: VectorStore) -> bool:
    """Whether this is ``langchain_chroma.Chroma`` with embeddings, and searches the way that does.

    A subclass with a search of its own (one that adds a tenant's filter, say) must not be bypassed.
    """
    module = sys.modules.get("langchain_chroma")
    if module is None or not isinstance(store, module.Chroma) or store.embeddings is None:
        return False
    return all(
        getattr(type(store), name) is getattr(module.Chroma, name) for name in _SEARCH_METHODS
    )


class _Retrievers:
    """One retriever a vector store, for as long as the store lives.

    The BM25 index is shared by all stores over one collection: they are often made per request.
    """

    def __init__(self) -> None:
        self._opened: WeakKeyDictionary[VectorStore, tuple[Any, Any, Retriever]] = (
            WeakKeyDictionary()
        )
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def over(self, store: Any) -> Retriever:
        """The store's retriever; a new one where its collection was reset."""
        collection, embeddings = store._collection, store.embeddings
        with self._lock:
            opened = self._opened.get(store)
            if opened is not None and opened[0] is collection and opened[1] is embeddings:
                return opened[2]
            retriever = serving_retriever(
                collection, embeddings, cache=default_cache(), index=ChromaBm25.shared(collection)
            )
            self._opened[store] = (collection, embeddings, retriever)
            return retriever


_retrievers = _Retrievers()


def _documents(ranking: Ranking, store: Any) -> list[Document]:
    """Documents as the vector store itself would build them."""
    rows = zip(
        ranking.ids,
        ranking.texts or ("",) * len(ranking),
        ranking.metadatas or (None,) * len(ranking),
        strict=True,
    )
    documents = [
        Document(page_content=text, metadata=dict(metadata or {}), id=id_)
        for id_, text, metadata in rows
    ]
    blank = [document.id for document in documents if not document.page_content]
    if not blank:
        return documents
    # The vector store leaves out entries that were added without a text; an empty text stays.
    found = store._collection.get(ids=blank, include=["documents"])
    textless = {
        id_ for id_, text in zip(found["ids"], found["documents"], strict=True) if text is None
    }
    return [document for document in documents if document.id not in textless]
