"""A VectorIndexRetriever over Chroma: the policy sees its collection and may search by vector."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from rl_rewriter.caching.default import default_cache
from rl_rewriter.integrations._llama_index_cache import CachedModel, cached_search
from rl_rewriter.integrations._llama_index_first import FirstSearch
from rl_rewriter.integrations._llama_index_route import (
    QueryEmbeddings,
    Route,
    Target,
    left_alone,
    names_nodes,
    with_text,
)
from rl_rewriter.integrations._serving import Request
from rl_rewriter.policies.checks import check_ranking
from rl_rewriter.policies.decider import Plan
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.vector_sizes import vector_size
from rl_rewriter.types import Filters, Ranking, Rewrite

_CHROMA_STORE = "llama_index.vector_stores.chroma.base"


def is_over_chroma(base: VectorIndexRetriever) -> bool:
    """Whether the index stands over a ChromaVectorStore; a subclass may search in its own way."""
    module = sys.modules.get(_CHROMA_STORE)
    return module is not None and type(base._vector_store) is module.ChromaVectorStore


def chroma_route(base: VectorIndexRetriever) -> Route:
    """Search by text, by vector, or fused with BM25, within the base's own filters."""
    if base._vector_store_query_mode != VectorStoreQueryMode.DEFAULT:
        return left_alone(base, "query_mode")
    if names_nodes(base):
        return left_alone(base, "restricted_ids")
    try:
        filters = _chroma_filters(base)
    except ValueError:
        return left_alone(base, "filters")
    if filters is None:
        return left_alone(base, "search_kwargs")
    collection = base._vector_store.client
    cache, model = default_cache(), base._embed_model
    size = partial(vector_size, collection)
    embeddings = QueryEmbeddings(model if cache is None else CachedModel(model, cache, size=size))
    first = FirstSearch(collection, embeddings.known)
    dense = ChromaRetriever(first, embeddings.embedder)
    index = ChromaBm25.shared(collection)
    hybrid = HybridRetriever(dense, index)
    searched = hybrid if cache is None else cached_search(cache, hybrid, index, collection, model)

    def rewritten(rewrite: Rewrite, bundle: QueryBundle) -> Target:
        if rewrite.lexical_weight > 0:
            [ranking] = searched.search([rewrite], k=base.similarity_top_k, filters=[filters])
            check_ranking(ranking, "the fused ranking")
            return _serving(base, ranking), with_text(bundle, rewrite.text)
        if rewrite.vector is None and len(rewrite.texts) == 1:
            return base, with_text(bundle, rewrite.text)
        [vector] = dense.resolve([rewrite])
        return base, with_text(bundle, rewrite.text, vector.tolist())

    def plan(request: Request) -> Plan:
        first.expect(request.query.text)
        request.ticket.meter.serves_first = True
        planned: Plan = request.plan_vector(searched, base.similarity_top_k, filters)
        return planned

    return Route(
        base, plan, rewritten, embeddings.known, searched, found=lambda: first.serving(base)
    )


def _chroma_filters(base: VectorIndexRetriever) -> Filters | None:
    """The base's restriction as ChromaVectorStore makes it; None where it has settings beyond that.

    Raises:
        ValueError: The filters have no counterpart in Chroma.
    """
    settings = dict(base._kwargs)
    where: Mapping[str, Any] | None = settings.pop("where", None)
    where_document = settings.pop("where_document", None)
    if settings:
        return None
    if base._filters is not None:
        if where is not None:
            return None
        translate = getattr(sys.modules[_CHROMA_STORE], "_to_chroma_filter", None)
        if translate is None:
            raise ValueError("this version of ChromaVectorStore translates filters elsewhere")
        where = translate(base._filters)
    return Filters(where=where, where_document=where_document)


def _serving(base: VectorIndexRetriever, ranking: Ranking) -> VectorIndexRetriever:
    """The base as it is, but finding this ranking: nodes, callbacks and events stay its own."""
    serving = copy.copy(base)
    serving._vector_store = _RankedStore(_found(base._vector_store, ranking))  # type: ignore[assignment]  # it answers what the retriever asks
    return serving


def _found(store: Any, ranking: Ranking) -> VectorStoreQueryResult:
    """Nodes in the order of the ranking; those deleted in the meantime are left out."""
    ids = list(ranking.ids)
    nodes = {node.node_id: node for node in store.get_nodes(ids)} if ids else {}
    rows = [row for row, id_ in enumerate(ids) if id_ in nodes]
    return VectorStoreQueryResult(
        nodes=[nodes[ids[row]] for row in rows],
        similarities=[float(ranking.scores[row]) for row in rows],
        ids=[ids[row] for row in rows],
    )


class _RankedStore:
    """Answers any query with what was found already, within our own time."""

    is_embedding_query = False

    def __init__(self, found: VectorStoreQueryResult) -> None:
        self._found = found

    def query(self, query: VectorStoreQuery, **settings: Any) -> VectorStoreQueryResult:
        """What was found, whatever is asked."""
        return self._found
