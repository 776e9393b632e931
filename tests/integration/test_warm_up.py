"""What the adapters open before the first question, without asking the wrapped retriever."""

from __future__ import annotations

from pathlib import Path

import chromadb
import pytest
from langchain_chroma import Chroma

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.retrieval.chroma_bm25 import index_folder
from tests.integration.langchain.parts import Echo, Embedder, documents
from tests.integration.llama_index.parts import RecordingRetriever, chroma_index, embedding_of


@pytest.fixture(autouse=True)
def _indexes_of_this_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RL_REWRITER_CACHE", str(tmp_path / "cache"))


def test_langchain_over_chroma_opens_the_index_and_embeds() -> None:
    embedder, rewriter = Embedder(), RLQueryRewriter()
    store = Chroma("warmed", embedder, client=chromadb.EphemeralClient())
    store.add_documents(documents())
    chain = langchain.RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    assert not index_folder(store._collection).exists()
    assert chain.warm_up()
    assert index_folder(store._collection).exists()
    assert embedder.embedded == ["warm up"]
    assert rewriter.counters["requests"] == 0


def test_llama_index_over_chroma_opens_the_index_and_embeds() -> None:
    index, rewriter = chroma_index(), RLQueryRewriter()
    engine = llama_index.RewritingRetriever(rewriter, index.as_retriever())
    assert not index_folder(index.vector_store.client).exists()
    assert engine.warm_up()
    assert index_folder(index.vector_store.client).exists()
    assert embedding_of(index).embedded == ["warm up"]
    assert rewriter.counters["requests"] == 0


def test_a_retriever_that_is_only_asked_is_not_asked() -> None:
    rewriter, echo, recording = RLQueryRewriter(), Echo(), RecordingRetriever()
    assert langchain.RewritingRetriever(rewriter=rewriter, base_retriever=echo).warm_up()
    assert llama_index.RewritingRetriever(rewriter, recording).warm_up()
    assert (echo.asked, recording.asked) == ([], [])
