"""Real LlamaIndex parts over the shared little corpus."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import chromadb
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.integrations.llama_index import last_decision
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.types import Needs, RewriteDecision
from tests.support import DOCUMENTS, TokenEmbedder, blend_checkpoint, fixed_checkpoint

QUESTION = "could you please tell me how I get my money back on the card?"
TENANTS = {name: "ab"[number % 2] for number, name in enumerate(DOCUMENTS)}


class TokenEmbedding(BaseEmbedding):
    """The shared token embedder as a LlamaIndex embedding."""

    _embedder: TokenEmbedder = PrivateAttr(default_factory=TokenEmbedder)
    _serves_only: str | None = PrivateAttr(default=None)

    @property
    def embedded(self) -> list[str]:
        """Queries embedded so far."""
        return self._embedder.embedded

    def break_but_for(self, text: str) -> None:
        """Fail on every other query from now on."""
        self._serves_only = text

    def _get_query_embedding(self, query: str) -> list[float]:
        if self._serves_only not in (None, query):
            raise ConnectionError("the embedding service is down")
        return self._embedder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        [vector] = self._embedder.embed_documents([text])
        return vector


class RecordingRetriever(BaseRetriever):
    """Takes texts only: remembers what it was asked, and finds what ``find`` says."""

    def __init__(self, find: Callable[[str], list[NodeWithScore]] | None = None) -> None:
        super().__init__()
        self.bundles: list[QueryBundle] = []
        self._find = find or (lambda text: [NodeWithScore(node=TextNode(id_="n", text=text))])

    @property
    def asked(self) -> list[str]:
        return [bundle.query_str for bundle in self.bundles]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.bundles.append(query_bundle)
        return self._find(query_bundle.query_str)


class LoopRetriever(RecordingRetriever):
    """Truly async: only works in the thread of the event loop."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        assert threading.current_thread() is threading.main_thread()
        return super()._retrieve(query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


def nodes() -> list[TextNode]:
    hidden = ["tenant"]
    return [
        TextNode(
            id_=name,
            text=text,
            metadata={"tenant": TENANTS[name]},
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
        for name, text in DOCUMENTS.items()
    ]


def chroma_index(*, space: str = "cosine", store_nodes: bool = False) -> VectorStoreIndex:
    collection = chromadb.EphemeralClient().create_collection(
        f"llama-{uuid.uuid4().hex}",
        configuration={"hnsw": {"space": space}},  # type: ignore[arg-type]
    )
    storage = StorageContext.from_defaults(
        vector_store=ChromaVectorStore.from_collection(collection)
    )
    return VectorStoreIndex(
        nodes(),
        storage_context=storage,
        embed_model=TokenEmbedding(),
        store_nodes_override=store_nodes,
    )


def simple_index() -> VectorStoreIndex:
    return VectorStoreIndex(nodes(), embed_model=TokenEmbedding())


def embedding_of(index: VectorStoreIndex) -> TokenEmbedding:
    model = index._embed_model
    assert isinstance(model, TokenEmbedding)
    return model


def retriever_over(index: VectorStoreIndex) -> Retriever:
    """Our own retriever over the index's Chroma collection."""
    return chroma_retriever(index.vector_store.client, embedding_of(index))


def over_chroma(index: VectorStoreIndex, action: str, **settings: Any) -> RLQueryRewriter:
    """A rewriter whose policy was made for the index's collection."""
    return RLQueryRewriter(checkpoint=checkpoint_for(index, action), **settings)


def checkpoint_for(index: VectorStoreIndex, action: str) -> Checkpoint:
    """A policy that takes one action wherever it is possible."""
    retriever = retriever_over(index)
    return blend_checkpoint(retriever) if action == BLEND else fixed_checkpoint(retriever, action)


class Blender(TextOnly):
    """What a vector store without a readable collection offers."""

    offers = Needs.BLEND


def of_words(action: str, **settings: Any) -> RLQueryRewriter:
    """A rewriter whose policy looks at nothing but the query."""
    return RLQueryRewriter(checkpoint=fixed_checkpoint(Blender(), action), **settings)


def tenant(name: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=name)])


def found(nodes: list[NodeWithScore]) -> list[tuple[str, float | None, str]]:
    return [(node.node.node_id, node.score, node.node.get_content()) for node in nodes]


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node.node_id for node in nodes]


def decided() -> RewriteDecision:
    """The decision behind the last retrieval."""
    decision: RewriteDecision | None = last_decision.get()
    assert decision is not None
    return decision


def logged(path: Path) -> list[Mapping[str, Any]]:
    """Decision records of a log."""
    return [interaction.decision for interaction in read_interactions(path)]
