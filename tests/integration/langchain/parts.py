"""Retrievers, an embedder and a callback handler that the tests of the LangChain adapter share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import last_decision
from rl_rewriter.types import RewriteDecision
from tests.support import DOCUMENTS, TokenEmbedder

Trained = Callable[..., RLQueryRewriter]
NewStore = Callable[..., Any]
TENANTS = ("a", "b")


class Embedder(TokenEmbedder, Embeddings):
    """The deterministic embedder as LangChain Embeddings."""


class Echo(BaseRetriever):
    """Returns one document that holds the query, and keeps what it was asked."""

    document: Document | None = None
    before: Callable[[], object] | None = None
    failure: Exception | None = None
    fails_on: str = ""
    asked: list[tuple[str, dict[str, Any]]] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        self.asked.append((query, kwargs))
        if self.before is not None:
            self.before()
        if self.failure is not None and self.fails_on in query:
            raise self.failure
        return [self.document or Document(page_content=query, id=f"echo:{query}")]


class Recorder(BaseCallbackHandler):
    """Keeps what retriever runs report."""

    raise_error = True

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.ended: list[tuple[UUID, list[str | None]]] = []
        self.failed: list[UUID] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.started.append({"query": query, **kwargs})

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.ended.append((run_id, [document.id for document in documents]))

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.failed.append(run_id)


def documents() -> list[Document]:
    """Documents with ids, each of one tenant or the other."""
    return [
        Document(page_content=text, id=id_, metadata={"tenant": TENANTS[n % 2], "n": n})
        for n, (id_, text) in enumerate(DOCUMENTS.items())
    ]


def latest() -> RewriteDecision:
    """The decision of the last call in this context."""
    decision: RewriteDecision | None = last_decision.get()
    assert decision is not None
    return decision
