"""Real Chroma collections behind both frameworks' retrievers, embedded and behind a server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStoreRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

from benchmarks._support import fill_collection
from rl_rewriter.retrieval.protocols import Embedder
from rl_rewriter.types import Matrix

_ADD_CHUNK = 2000
_START_SECONDS = 60


class ForLangChain(Embeddings):
    """An embedder of ours as LangChain's."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model_name = embedder.name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self._embedder.embed_queries([text])[0].tolist()
        return vector


class ForLlamaIndex(BaseEmbedding):
    """An embedder of ours as LlamaIndex's."""

    _embedder: Any = PrivateAttr()

    @classmethod
    def of(cls, embedder: Embedder) -> ForLlamaIndex:
        """Wrap an embedder."""
        wrapped = cls(model_name=embedder.name)
        wrapped._embedder = embedder
        return wrapped

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._embedder.embed_queries([query])[0].tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed_documents([text])[0].tolist()
        return vector


def langchain_retriever(
    client: Any, documents: Mapping[str, str], vectors: Matrix, embedder: Embedder, k: int
) -> VectorStoreRetriever:
    """The documents in a new collection, behind LangChain's vector store."""
    name = fill_collection(client, documents, vectors).name
    embeddings = ForLangChain(embedder)
    store = Chroma(name, embeddings, client=client, create_collection_if_not_exists=False)
    return store.as_retriever(search_kwargs={"k": k})


def llama_index_retriever(
    client: Any, documents: Mapping[str, str], vectors: Matrix, embedder: Embedder, k: int
) -> VectorIndexRetriever:
    """The documents in a new collection, behind LlamaIndex's vector index."""
    collection = client.create_collection(
        f"benchmark-{uuid.uuid4().hex}", configuration={"hnsw": {"space": "cosine"}}
    )
    store = ChromaVectorStore.from_collection(collection)
    rows = list(zip(documents.items(), vectors.tolist(), strict=True))
    for start in range(0, len(rows), _ADD_CHUNK):
        part: Sequence[Any] = [
            TextNode(id_=name, text=text, embedding=vector)
            for (name, text), vector in rows[start : start + _ADD_CHUNK]
        ]
        store.add(list(part))
    index = VectorStoreIndex.from_vector_store(store, embed_model=ForLlamaIndex.of(embedder))
    retriever = index.as_retriever(similarity_top_k=k)
    if not isinstance(retriever, VectorIndexRetriever):
        raise TypeError(f"the index made a {type(retriever).__name__}")
    return retriever


@contextmanager
def chroma_server(folder: Path) -> Iterator[Any]:
    """A client of a Chroma server of its own process, on a loopback port of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--path", str(folder)]
    with (folder / "output").open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield _connected(server, port)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _connected(server: subprocess.Popen[bytes], port: int) -> Any:
    until = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            return chromadb.HttpClient(host="127.0.0.1", port=port)
        except ValueError:
            time.sleep(0.1)
    raise RuntimeError("the Chroma server did not start")
