"""How a LlamaIndex retriever is searched for a rewrite: by a text, or by a mixed embedding."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from rl_rewriter.caching.default import default_cache
from rl_rewriter.integrations._llama_index_cache import CachedModel
from rl_rewriter.integrations._serving import Request
from rl_rewriter.policies.decider import Plan
from rl_rewriter.policies.retrieving import is_kept
from rl_rewriter.retrieval.embedders import FunctionEmbedder
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.types import Rewrite, RewriteDecision

Target = tuple[BaseRetriever, QueryBundle]
"""The retriever to call, and what to call it with."""

_NESTING = 4
_NESTED_ITEMS = 32


class QueryEmbeddings:
    """An index's embedding model that embeds each query text once a request.

    Attributes:
        known: Text -> embedding, as the model gave it.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.known: dict[str, list[float]] = {}
        self.embedder = FunctionEmbedder(
            type(model).__name__, model.get_text_embedding_batch, self._queries
        )

    def _queries(self, texts: list[str]) -> list[list[float]]:
        return [self._query(text) for text in texts]

    def _query(self, text: str) -> list[float]:
        known = self.known.get(text)
        if known is not None:
            return known
        vector: list[float] = self._model.get_agg_embedding_from_queries([text])
        if np.isfinite(vector).all():  # else the wrapped retriever is to embed for itself
            self.known[text] = vector
        return vector


@dataclass(frozen=True)
class Route:
    """How a base retriever is searched.

    Attributes:
        base: The retriever of the user.
        plan: Decides for a request, among what can be carried out here.
        rewritten: From a rewrite and the caller's bundle to what is called.
        known: Embeddings that were made while deciding.
        retriever: What we search ourselves; None where the base alone is searched.
        found: The base, finding what the query's own search found while deciding; None where
            nothing was found.
    """

    base: BaseRetriever
    plan: Callable[[Request], Plan]
    rewritten: Callable[[Rewrite, QueryBundle], Target]
    known: dict[str, list[float]] = field(default_factory=dict)
    retriever: Retriever | None = None
    found: Callable[[], BaseRetriever | None] = lambda: None

    def target(self, decision: RewriteDecision, bundle: QueryBundle) -> Target:
        """What is called for a decision."""
        if is_kept(decision):
            return self.original(bundle)
        return self.rewritten(decision.rewrite, bundle)

    def original(self, bundle: QueryBundle) -> Target:
        """The base with the bundle as it came; a copy, since retrievers write into it."""
        embedding = bundle.embedding
        if embedding is None:
            embedding = self.known.get(bundle.query_str)
        return as_asked(self.found() or self.base, bundle, embedding)


def as_asked(
    base: BaseRetriever, bundle: QueryBundle, embedding: list[float] | None = None
) -> Target:
    """The base with a copy of the bundle, with its embedding where that is known already."""
    known = bundle.embedding if embedding is None else embedding
    return base, dataclasses.replace(bundle, embedding=known)


def left_alone(base: BaseRetriever, problem: str) -> Route:
    """Every query is kept, for a named reason."""
    return text_route(base, lambda request: Plan(request.keep(request.ticket.problem or problem)))


def text_route(base: BaseRetriever, plan: Callable[[Request], Plan]) -> Route:
    """Search by one text."""
    return Route(base, plan, lambda rewrite, bundle: (base, with_text(bundle, rewrite.text)))


def blend_route(base: VectorIndexRetriever, plan: Callable[[Request], Plan]) -> Route:
    """Search by one text, or by the mixed embeddings of several."""
    cache, model = default_cache(), base._embed_model
    embeddings = QueryEmbeddings(model if cache is None else CachedModel(model, cache))

    def rewritten(rewrite: Rewrite, bundle: QueryBundle) -> Target:
        if len(rewrite.texts) == 1:
            return base, with_text(bundle, rewrite.text)
        [vector] = resolve_vectors([rewrite], embeddings.embedder.embed_queries)
        return base, with_text(bundle, rewrite.text, vector.tolist())

    return Route(base, plan, rewritten)


def with_text(bundle: QueryBundle, text: str, embedding: list[float] | None = None) -> QueryBundle:
    """A bundle of another text, without what belongs to the old one."""
    return dataclasses.replace(
        bundle, query_str=text, custom_embedding_strs=None, embedding=embedding
    )


def nested(retriever: BaseRetriever, depth: int = _NESTING) -> Iterator[BaseRetriever]:
    """A retriever and those that it holds."""
    yield retriever
    for value in list(vars(retriever).values()) if depth else ():
        held = value.values() if isinstance(value, dict) else value
        parts = held if isinstance(value, dict | list | tuple) else (value,)
        for part in islice(parts, _NESTED_ITEMS):
            if isinstance(part, BaseRetriever):
                yield from nested(part, depth - 1)


def names_nodes(retriever: BaseRetriever) -> bool:
    """Whether a retriever is bound to some nodes: an index makes its own with all that it knows."""
    node_ids = getattr(retriever, "_node_ids", None)
    if node_ids and isinstance(retriever, VectorIndexRetriever):
        node_ids = node_ids != list(retriever._index.index_struct.nodes_dict.values())
    return bool(node_ids or getattr(retriever, "_doc_ids", None))


async def aretrieve(target: Target) -> list[NodeWithScore]:
    """Search without blocking the loop: awaited where the retriever is async, else in a thread."""
    retriever, bundle = target
    if all(_is_async(part) for part in nested(retriever)):
        return await retriever.aretrieve(bundle)
    return await asyncio.to_thread(retriever.retrieve, bundle)


def _is_async(retriever: BaseRetriever) -> bool:
    """Whether ``aretrieve`` awaits something: the defaults of the framework call the sync one."""
    owner = next(c for c in type(retriever).__mro__ if "_aretrieve" in vars(c))
    if owner is VectorIndexRetriever:
        store: Any = retriever._vector_store  # type: ignore[attr-defined]  # its class is known
        aquery = getattr(type(store), "aquery", None)
        return aquery not in (None, BasePydanticVectorStore.aquery)
    return owner is not BaseRetriever
