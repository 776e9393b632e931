"""What kind of retriever stands behind the rewriter, and so what may be done."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from rl_rewriter.integrations._llama_index_chroma import chroma_route, is_over_chroma
from rl_rewriter.integrations._llama_index_route import (
    Route,
    blend_route,
    left_alone,
    names_nodes,
    nested,
    text_route,
)
from rl_rewriter.types import Needs

_TEXT_MODES = (
    VectorStoreQueryMode.TEXT_SEARCH,
    VectorStoreQueryMode.SPARSE,
    VectorStoreQueryMode.HYBRID,
    VectorStoreQueryMode.SEMANTIC_HYBRID,
)
_RESTRICTIONS = ("_filters", "filters", "_kwargs")


def find_route(base: BaseRetriever, bundle: QueryBundle) -> Route:
    """How this base can be searched for this bundle.

    A bundle that brings its own embedding or embedding texts (HyDE's does) is left alone: what it
    asks for isn't said by its query string.
    """
    own_texts = bundle.custom_embedding_strs not in (None, [bundle.query_str])
    if bundle.embedding is not None or own_texts:
        return left_alone(base, "own_embedding")
    if type(base) is not VectorIndexRetriever:
        return _text_route(base)
    if is_over_chroma(base):
        return chroma_route(base)
    mode, embeds = base._vector_store_query_mode, base._needs_embedding()
    if mode == VectorStoreQueryMode.DEFAULT and embeds:
        filtered = _is_restricted(base)
        return blend_route(
            base, lambda request: request.plan_text(allowed=Needs.BLEND, filtered=filtered)
        )
    if mode == VectorStoreQueryMode.DEFAULT or mode in _TEXT_MODES:
        return _text_route(base)
    return left_alone(base, "query_mode")


def _text_route(base: BaseRetriever) -> Route:
    filtered = any(_is_restricted(part) for part in nested(base))
    return text_route(base, lambda request: request.plan_text(filtered=filtered))


def _is_restricted(retriever: BaseRetriever) -> bool:
    """Whether a retriever searches part of its collection only; names are the framework's."""
    return names_nodes(retriever) or any(getattr(retriever, name, None) for name in _RESTRICTIONS)
