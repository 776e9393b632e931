"""What wrapping a LangChain retriever costs: whole calls, wrapped over bare.

10,000 generated documents, embedded by the packaged all-MiniLM-L6-v2 (kept in the cache folder, so
that a second run starts quickly) and held by ``langchain_chroma.Chroma``. Each query is asked of
the bare ``as_retriever(search_kwargs={"k": 10})`` and of the same retriever wrapped, in one process
and in alternating order, query embedding included. No query is asked twice of the same retriever.
Shown are the median of the per-query ratios and the ratio of the medians. Run it from the
repository root: ``python -m benchmarks.langchain_overhead``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import chromadb
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from benchmarks._support import Writer, fill_collection, print_table, settled_checkpoints
from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import RewritingRetriever
from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir
from rl_rewriter.retrieval.embedders import load_embedder
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Embedder

N_QUERIES = 300
WARM_UP = 20
K = 10
UNTRAINED = "untrained"
CASES = {
    "untrained": UNTRAINED,
    "keep": "keep",
    "feedback in the vector, BM25": "move_bm25_3@0.4",
    "feedback in the vector, dense": "move_dense_3@0.4",
    "fusion with BM25": "fuse_bm25@0.4",
}


class MiniLm(Embeddings):
    """The packaged model as LangChain's Embeddings."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of 384 numbers."""
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """A vector of 384 numbers."""
        vector: list[float] = self._embedder.embed_queries([text])[0].tolist()
        return vector


def main() -> None:
    """Measure and print."""
    embedder = load_embedder("minilm")
    store = vector_store(embedder)
    bare = store.as_retriever(search_kwargs={"k": K})
    texts = Writer(2).queries(WARM_UP + N_QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        retriever = chroma_retriever(
            store._collection, MiniLm(embedder), cache_dir=Path(folder), refresh_seconds=3600.0
        )
        actions = [action for action in CASES.values() if action != UNTRAINED]
        checkpoints = settled_checkpoints(retriever, actions)
    rows = []
    for case, action in CASES.items():
        rewriter = RLQueryRewriter(checkpoint=checkpoints.get(action))
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=bare)
        pairs = [timed_pair(bare, wrapped, text, turn) for turn, text in enumerate(texts)][WARM_UP:]
        without, with_wrapper = (statistics.median(side) for side in zip(*pairs, strict=True))
        by_query = statistics.median(wrapped / bare for bare, wrapped in pairs)
        ratios = (f"{by_query:.3f}", f"{with_wrapper / without:.3f}")
        rows.append((case, f"{without:.2f}", f"{with_wrapper:.2f}", *ratios))
    print_table(("policy", "bare ms", "wrapped ms", "median ratio", "ratio of medians"), rows)


def vector_store(embedder: Embedder) -> Chroma:
    """The documents in an in-process Chroma, behind LangChain's vector store."""
    documents = Writer().documents()
    cached = CachedEmbedder(embedder, default_cache_dir() / "benchmarks.sqlite")
    vectors = cached.embed_documents(list(documents.values()))
    client = chromadb.EphemeralClient()
    name = fill_collection(client, documents, vectors).name
    return Chroma(name, MiniLm(embedder), client=client, create_collection_if_not_exists=False)


def timed_pair(
    bare: BaseRetriever, wrapped: BaseRetriever, text: str, turn: int
) -> tuple[float, float]:
    """Milliseconds of the bare and of the wrapped call, the one or the other first in turns."""
    order = (bare, wrapped) if turn % 2 else (wrapped, bare)
    milliseconds = {}
    for retriever in order:
        started = time.perf_counter()
        found = retriever.invoke(text)
        milliseconds[id(retriever)] = 1000.0 * (time.perf_counter() - started)
        if len(found) != K:
            raise RuntimeError(f"{K} documents were to be found, not {len(found)}")
    return milliseconds[id(bare)], milliseconds[id(wrapped)]


if __name__ == "__main__":
    main()
