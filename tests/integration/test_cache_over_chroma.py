"""Both adapters with the serving cache, over a persistent Chroma that others write to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from rl_rewriter import RLQueryRewriter
from rl_rewriter.caching import default
from rl_rewriter.caching.default import use_cache
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.integrations.langchain import RewritingRetriever
from rl_rewriter.integrations.llama_index import RewritingRetriever as LlamaRewritingRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from tests.integration.llama_index.parts import Blender, TokenEmbedding
from tests.integration.llama_index.parts import nodes as llama_nodes
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, fixed_checkpoint

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere nothing tells what a file system is"
)

Served = list[tuple[str, str]]
"""Id and text of each document."""
Ask = Callable[[str, str], Served]
"""From a question and a tenant to what is served."""
WRITER = """
import json, sys, chromadb
collection = chromadb.PersistentClient(sys.argv[1]).get_collection(
    sys.argv[2], embedding_function=None
)
print("ready", flush=True)
for line in sys.stdin:
    method, arguments = json.loads(line)
    getattr(collection, method)(**arguments)
    print("done", flush=True)
"""


class NamedEmbeddings(TokenEmbedder, Embeddings):
    model = "tokens"


class OtherProcess:
    """Writes to the collection from outside."""

    def __init__(self, folder: Path, collection: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), collection],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer("ready")

    def write(self, method: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([method, arguments]) + "\n")
        self._process.stdin.flush()
        self._answer("done")

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _answer(self, expected: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == expected


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> ServingCache:
    """The cache of the process while a test runs."""
    cache = ServingCache()
    monkeypatch.setattr(default, "_chosen", [cache])
    return cache


@pytest.fixture
def client(tmp_path: Path) -> Any:
    return chromadb.PersistentClient(str(tmp_path / "chroma"))


def langchain_store(client: Any) -> Chroma:
    return Chroma("shop", NamedEmbeddings(), client=client)


def filled(client: Any) -> Any:
    """The collection, filled through LlamaIndex, whose nodes LangChain can read as well."""
    collection = client.get_or_create_collection("shop", embedding_function=None)
    store = ChromaVectorStore.from_collection(collection)
    nodes: list[BaseNode] = [*llama_nodes()]
    vectors = NamedEmbeddings().embed_documents(list(DOCUMENTS.values()))
    for node, vector in zip(nodes, vectors, strict=True):
        node.embedding = vector
    store.add(nodes)
    return collection


def through_langchain(client: Any, rewriter: RLQueryRewriter) -> Ask:
    store = langchain_store(client)

    def ask(question: str, tenant: str) -> Served:
        base = store.as_retriever(search_kwargs={"k": 4, "filter": {"tenant": tenant}})
        found: list[Document] = RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(
            question
        )
        return [(str(document.id), document.page_content) for document in found]

    return ask


def through_llama_index(client: Any, rewriter: RLQueryRewriter) -> Ask:
    collection = client.get_collection("shop", embedding_function=None)
    model = TokenEmbedding(model_name="tokens")
    index = VectorStoreIndex.from_vector_store(
        ChromaVectorStore.from_collection(collection), embed_model=model
    )

    def ask(question: str, tenant: str) -> Served:
        filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])
        base = index.as_retriever(similarity_top_k=4, filters=filters)
        found = LlamaRewritingRetriever(rewriter, base).retrieve(question)
        return [(node.node_id, node.get_content()) for node in found]

    return ask


ADAPTERS = {"langchain": through_langchain, "llama_index": through_llama_index}


@pytest.fixture
def asks(client: Any, cache: ServingCache) -> Any:
    """Makes, for an adapter and an action, one chain without a cache and one with it."""
    collection = filled(client)
    over = chroma_retriever(collection, NamedEmbeddings())

    def make(adapter: str, action: str) -> tuple[Ask, Ask]:
        checkpoint = fixed_checkpoint(over, action)
        plain, kept = (
            ADAPTERS[adapter](client, RLQueryRewriter(checkpoint=checkpoint)) for _ in range(2)
        )

        def without(question: str, tenant: str) -> Served:
            use_cache(None)
            try:
                return plain(question, tenant)
            finally:
                use_cache(cache)

        return without, kept

    return make


WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("update", {"ids": ["refund"], "metadatas": [{"tenant": "b"}]}),
    ("update", {"ids": ["return"], "metadatas": [{"tenant": "a"}]}),
    ("delete", {"ids": ["delivery"]}),
    (
        "upsert",
        {
            "ids": ["card"],
            "documents": ["The card is never charged."],
            "metadatas": [{"tenant": "a"}],
            "embeddings": TokenEmbedder().embed_documents(["The card is never charged."]),
        },
    ),
)


@pytest.mark.parametrize(
    ("action", "writer"), [("keep", "another process"), ("fuse_bm25@0.4", "the same client")]
)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_answer_is_what_it_would_be_without_a_cache(
    adapter: str,
    action: str,
    writer: str,
    asks: Any,
    client: Any,
    cache: ServingCache,
    tmp_path: Path,
) -> None:
    without, kept = asks(adapter, action)
    other = OtherProcess(tmp_path / "chroma", "shop") if writer == "another process" else None
    collection = client.get_collection("shop", embedding_function=None)
    try:
        for method, arguments in WRITES:
            for _ in range(2):
                for tenant in "abab":
                    served = kept(QUERIES[0], tenant)
                    assert served == without(QUERIES[0], tenant)
                    stored = collection.get(ids=[id_ for id_, _ in served])["metadatas"]
                    assert {metadata["tenant"] for metadata in stored} <= {tenant}
            if other is not None:
                other.write(method, **arguments)
            else:
                getattr(collection, method)(**arguments)
        for tenant in "ab":
            assert kept(QUERIES[0], tenant) == without(QUERIES[0], tenant)
    finally:
        if other is not None:
            other.close()
    stats = cache.stats()
    assert stats.hits > stats.misses > 0


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_question_asked_again_is_neither_embedded_nor_looked_at_again(
    adapter: str, client: Any, cache: ServingCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = filled(client)
    checkpoint = fixed_checkpoint(chroma_retriever(collection, NamedEmbeddings()), "keep")
    ask = ADAPTERS[adapter](client, RLQueryRewriter(checkpoint=checkpoint))
    first = [ask(QUERIES[0], "a") for _ in range(2)]  # the first one builds the BM25 index
    misses = cache.stats().misses

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the question was embedded again")

    monkeypatch.setattr(TokenEmbedder, "embed_query", refuse)
    assert ask(QUERIES[0], "a") == first[0] == first[1]
    assert cache.stats().misses == misses


def test_mixes_of_texts_over_other_stores_are_embedded_once(cache: ServingCache) -> None:
    checkpoint = fixed_checkpoint(Blender(), "keywords@0.5")
    rewriter = RLQueryRewriter(checkpoint=checkpoint)
    embeddings = NamedEmbeddings()
    memory = InMemoryVectorStore(embeddings)
    memory.add_documents([Document(text, id=name) for name, text in DOCUMENTS.items()])
    chain = RewritingRetriever(rewriter=rewriter, base_retriever=memory.as_retriever())
    model = TokenEmbedding(model_name="tokens")
    index = VectorStoreIndex(llama_nodes(), embed_model=model)
    engine = LlamaRewritingRetriever(rewriter, index.as_retriever())
    chained = [[document.id for document in chain.invoke(QUERIES[0])] for _ in range(2)]
    answered = [[node.node_id for node in engine.retrieve(QUERIES[0])] for _ in range(2)]
    assert chained[0] == chained[1]
    assert answered[0] == answered[1]
    assert rewriter.counters["actions"] == {"keywords@0.5": 4}
    assert len(embeddings.embedded) == len(set(embeddings.embedded)) == 2
    assert len(model.embedded) == len(set(model.embedded)) == 2
