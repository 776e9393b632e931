"""A real Chroma vector store with a small corpus, and rewriters trained by hand for it."""

from __future__ import annotations

import uuid
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.text_only import TextOnly
from tests.integration.langchain.parts import Embedder, NewStore, Trained, documents
from tests.support import blend_checkpoint, fixed_checkpoint


@pytest.fixture
def new_store() -> NewStore:
    """Makes vector stores of their own."""
    client = chromadb.EphemeralClient()

    def make(
        *, space: str = "l2", embedder: Embedder | None = None, cls: type[Any] = Chroma
    ) -> Any:
        store = cls(
            collection_name=f"t{uuid.uuid4().hex}",
            embedding_function=embedder or Embedder(),
            client=client,
            collection_configuration={"hnsw": {"space": space}},
        )
        store.add_documents(documents())
        return store

    return make


@pytest.fixture
def store(new_store: NewStore) -> Any:
    """A vector store over the small corpus."""
    return new_store()


@pytest.fixture
def trained(store: Any) -> Trained:
    """Makes rewriters that take one action wherever it is possible."""

    def make(action: str, **settings: Any) -> RLQueryRewriter:
        over = chroma_retriever(store._collection, store.embeddings)
        made = blend_checkpoint(over) if action == BLEND else fixed_checkpoint(over, action)
        return RLQueryRewriter(checkpoint=made, **settings)

    return make


@pytest.fixture
def trained_on_text() -> Trained:
    """Makes rewriters whose policy looks at nothing but the words."""

    def make(action: str = "keywords", **settings: Any) -> RLQueryRewriter:
        return RLQueryRewriter(checkpoint=fixed_checkpoint(TextOnly(), action), **settings)

    return make


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of every query that reaches Chroma, which still answers them."""
    made: list[dict[str, Any]] = []
    original = chromadb.Collection.query

    def query(self: chromadb.Collection, *args: Any, **kwargs: Any) -> Any:
        made.append(kwargs)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(chromadb.Collection, "query", query)
    return made
