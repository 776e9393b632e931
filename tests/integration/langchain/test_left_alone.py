"""Where rewriting would change what a search means, the question goes through as it is."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever

from rl_rewriter.integrations.langchain import RewritingRetriever
from tests.integration.langchain.parts import Embedder, NewStore, Trained, documents, latest
from tests.support import QUERIES


@pytest.mark.filterwarnings("ignore:Relevance scores must be")
@pytest.mark.parametrize(
    ("search_type", "search_kwargs"),
    [
        ("mmr", {"k": 3, "fetch_k": 8, "lambda_mult": 0.3}),
        ("similarity_score_threshold", {"score_threshold": 0.1}),
    ],
)
def test_search_types_keep_their_meaning(
    store: Any, trained: Trained, search_type: str, search_kwargs: dict[str, Any]
) -> None:
    base = store.as_retriever(search_type=search_type, search_kwargs=search_kwargs)
    wrapped = RewritingRetriever(rewriter=trained("keywords"), base_retriever=base)

    assert wrapped.invoke(QUERIES[0]) == base.invoke(QUERIES[0])
    assert (latest().action, latest().reason) == ("keep", "fallback:search_type")
    assert latest().policy_version == wrapped.rewriter.policy_version


@pytest.mark.parametrize("odd", [{"include": ["documents", "metadatas", "distances"]}, {"k": True}])
def test_arguments_that_we_could_not_honour_are_the_bases(
    store: Any, trained: Trained, odd: dict[str, Any]
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained("keywords"), base_retriever=base)

    assert wrapped.invoke(QUERIES[0], **odd) == base.invoke(QUERIES[0], **odd)
    assert (latest().action, latest().reason) == ("keep", "fallback:search_kwargs")


class OneTenant(Chroma):
    """A store that adds its tenant's filter to the search by text alone."""

    def similarity_search(
        self, query: str, k: int = 4, filter: dict[str, str] | None = None, **kwargs: Any
    ) -> list[Document]:
        return super().similarity_search(query, k, {"tenant": "a"})


class InMemoryOneTenant(InMemoryVectorStore):
    """The same for another store."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return super().similarity_search(query, k, filter=lambda d: d.metadata["tenant"] == "a")


class OneTenantRetriever(VectorStoreRetriever):
    """A retriever that adds the filter itself."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.vectorstore.similarity_search(query, filter={"tenant": "a"})


@pytest.mark.parametrize("kind", ["chroma", "in_memory", "retriever"])
def test_searches_of_the_users_own_are_not_bypassed(
    new_store: NewStore, trained: Trained, kind: str
) -> None:
    if kind == "chroma":
        base = new_store(cls=OneTenant).as_retriever()
    elif kind == "retriever":
        base = OneTenantRetriever(vectorstore=new_store())
    else:
        memory = InMemoryOneTenant(Embedder())
        memory.add_documents(documents())
        base = memory.as_retriever()
    for action in ("keywords", "keywords@0.5", "fuse_bm25@0.4"):
        wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)

        found = wrapped.invoke(QUERIES[0])

        assert found == base.invoke(QUERIES[0])
        assert {document.metadata["tenant"] for document in found} == {"a"}
        assert latest().reason == "fallback:missing_evidence"
