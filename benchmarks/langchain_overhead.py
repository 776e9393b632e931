"""What wrapping a LangChain retriever costs: whole calls, wrapped over bare.

10,000 generated documents, embedded by the packaged all-MiniLM-L6-v2 (kept in the cache folder, so
that a second run starts quickly) and held by ``langchain_chroma.Chroma``. Each query is asked of
the bare ``as_retriever(search_kwargs={"k": 10})`` and of the same retriever wrapped, query
embedding included, in one process and in alternating order. The model computes on one thread: on a
busy machine several threads wait for each other. Shown are medians of the whole call, the median of
the per-query ratios, the ratio of the medians, and the median of the per-query ratios of CPU time,
which other processes disturb less. Run it from the repository root:
``python -m benchmarks.langchain_overhead``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import chromadb
import torch
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

N_QUERIES = 250
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


class Times(NamedTuple):
    """Seconds of one call."""

    wall: float
    cpu: float


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
    torch.set_num_threads(1)
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
        pairs = [timed_pair(bare, wrapped, text, turn) for turn, text in enumerate(texts)]
        rows.append((case, *figures(pairs[WARM_UP:])))
    print_table(
        ("policy", "bare ms", "wrapped ms", "median ratio", "ratio of medians", "CPU ratio"), rows
    )


def figures(pairs: Sequence[tuple[Times, Times]]) -> list[str]:
    """The numbers of a row, from the times of the bare and of the wrapped call of each query."""
    wall_bare = statistics.median(bare.wall for bare, _ in pairs)
    wall_wrapped = statistics.median(wrapped.wall for _, wrapped in pairs)
    by_query = statistics.median(wrapped.wall / bare.wall for bare, wrapped in pairs)
    by_cpu = statistics.median(wrapped.cpu / bare.cpu for bare, wrapped in pairs)
    return [
        f"{1000.0 * wall_bare:.2f}",
        f"{1000.0 * wall_wrapped:.2f}",
        *(f"{ratio:.3f}" for ratio in (by_query, wall_wrapped / wall_bare, by_cpu)),
    ]


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
) -> tuple[Times, Times]:
    """Times of the bare and of the wrapped call, the one or the other first in turns."""
    if turn % 2:
        return timed(bare, text), timed(wrapped, text)
    second, first = timed(wrapped, text), timed(bare, text)
    return first, second


def timed(retriever: BaseRetriever, text: str) -> Times:
    """Ask once."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = retriever.invoke(text)
    times = Times(time.perf_counter() - wall, time.process_time() - cpu)
    if len(found) != K:
        raise RuntimeError(f"{K} documents were to be found, not {len(found)}")
    return times


if __name__ == "__main__":
    main()
