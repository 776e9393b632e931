"""Requests a second of a wrapped retriever over those of the bare one, with several clients.

10,000 generated documents in Chroma (embedded, in a persistent folder, and behind a server that is
started here), behind LangChain's and LlamaIndex's own retriever with k = 10. The same questions,
each new to the process, are asked of the bare retriever and of the same retriever wrapped, with
default settings: block after block, the one or the other first in turns, each block by 1, 8 or 32
threads that share the retriever. A row's ratio is the median over the pairs of blocks of requests a
second, wrapped over bare, with the 95% interval of that median (order statistics); the CPU ratio is
the same of this process's processor time, which other processes disturb less. Embedders: the
packaged all-MiniLM-L6-v2 on one thread, and hashed words, which cost nothing, so that only the
search is left to compare with. Policies take one action wherever it is possible:

    keep      the question as it is, decided on evidence of both rankings
    feedback  the question's vector moved toward its first BM25 documents

Run it from the repository root, at a raised priority where that is allowed:

    nice -n -2 python -m benchmarks.serving_load
    nice -n -2 python -m benchmarks.serving_load --only langchain hashed --pairs 40
"""

from __future__ import annotations

import argparse
import itertools
import logging
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import torch

from benchmarks._served_stores import chroma_server, langchain_retriever, llama_index_retriever
from benchmarks._support import HashedWords, Writer, print_table, settled_checkpoints
from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir
from rl_rewriter.retrieval.embedders import load_embedder
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Embedder

K = 10
CLIENTS = (1, 8, 32)
BLOCK = 32
"""Requests a block of one client at least, shared among the clients."""
POLICIES = {"keep": "keep", "feedback": "move_bm25_3@0.4"}
PLACES = ("embedded", "server")
EMBEDDERS = ("minilm", "hashed")
FRAMEWORKS = ("langchain", "llama_index")
Ask = Callable[[str], Any]


class Times(NamedTuple):
    """Seconds of one block."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Pair:
    """A retriever and the same one wrapped.

    Attributes:
        bare: Asks the bare one.
        wrapped: Asks the wrapped one.
        rewriter: Who decides.
    """

    bare: Ask
    wrapped: Ask
    rewriter: RLQueryRewriter


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Load of wrapped against bare retrievers.")
    parser.add_argument("--pairs", type=int, default=25, help="pairs of blocks a row")
    parser.add_argument("--only", nargs="*", default=[], help="words that a row must have")
    parser.add_argument("--clients", nargs="*", type=int, default=CLIENTS)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for place, kind in itertools.product(PLACES, EMBEDDERS):
            wanted = [
                (framework, policy)
                for framework, policy in itertools.product(FRAMEWORKS, POLICIES)
                if set(given.only) <= {place, kind, framework, policy}
            ]
            if not wanted:
                continue
            client = _client(place, folder, stack)
            embedder: Embedder = load_embedder(kind) if kind == "minilm" else HashedWords()
            vectors = _vectors(kind, embedder)
            for framework, policy in wanted:
                pair = paired(framework, policy, client, embedder, vectors)
                for clients in given.clients:
                    figures = measured(pair, clients, given.pairs)
                    rows.append((place, kind, framework, policy, clients, *figures))
                    print(*rows[-1], flush=True)
    print()
    columns = ("Chroma", "embedder", "framework", "policy", "clients")
    print_table((*columns, "bare/s", "wrapped/s", "ratio", "from", "to", "CPU ratio"), rows)


def paired(framework: str, policy: str, client: Any, embedder: Embedder, vectors: Any) -> Pair:
    """A framework's retriever over a new collection, bare and wrapped."""
    documents = Writer().documents()
    if framework == "langchain":
        bare = langchain_retriever(client, documents, vectors, embedder, K)
        rewriter = RLQueryRewriter(checkpoint=_checkpoint(bare.vectorstore._collection, policy))  # type: ignore[attr-defined]  # Chroma's own
        wrapped = langchain.RewritingRetriever(rewriter=rewriter, base_retriever=bare)
        return Pair(bare.invoke, wrapped.invoke, rewriter)
    base = llama_index_retriever(client, documents, vectors, embedder, K)
    rewriter = RLQueryRewriter(checkpoint=_checkpoint(base._vector_store.client, policy))
    return Pair(base.retrieve, llama_index.RewritingRetriever(rewriter, base).retrieve, rewriter)


def measured(pair: Pair, clients: int, n_pairs: int) -> tuple[str, ...]:
    """Requests a second bare and wrapped, the median ratio and its interval."""
    texts = _new_texts()
    block = max(BLOCK, 2 * clients)
    for ask in (pair.bare, pair.wrapped):  # the BM25 index is built, threads begin
        _seconds(ask, list(itertools.islice(texts, block)), clients)
    until = time.monotonic() + 120
    while _fallbacks(pair, list(itertools.islice(texts, 4))) and time.monotonic() < until:
        time.sleep(0.2)
    before = pair.rewriter.counters["reasons"].copy()
    bare: list[Times] = []
    wrapped: list[Times] = []
    for turn in range(n_pairs):
        asked = list(itertools.islice(texts, block))
        sides = [(pair.bare, bare), (pair.wrapped, wrapped)]
        for ask, times in sides if turn % 2 else reversed(sides):
            times.append(_seconds(ask, asked, clients))
    counted = pair.rewriter.counters["reasons"]
    failed = {
        name: n - before.get(name, 0)
        for name, n in counted.items()
        if name.startswith("fallback") and n > before.get(name, 0)
    }
    if sum(failed.values()) > 0.01 * block * n_pairs:
        print(f"  not all were decided: {failed}", flush=True)
    pairs = list(zip(bare, wrapped, strict=True))
    ratios = sorted(b.wall / w.wall for b, w in pairs)
    low, high = _interval(n_pairs)
    return (
        f"{block / statistics.median(times.wall for times in bare):.0f}",
        f"{block / statistics.median(times.wall for times in wrapped):.0f}",
        *(f"{value:.2f}" for value in (statistics.median(ratios), ratios[low], ratios[high])),
        f"{statistics.median(b.cpu / w.cpu for b, w in pairs):.2f}",
    )


def _seconds(ask: Ask, texts: Sequence[str], clients: int) -> Times:
    """Time until all clients have their answers."""
    ready, failed = threading.Barrier(clients + 1), []

    def client(number: int) -> None:
        ready.wait()
        for text in texts[number::clients]:
            if len(ask(text)) != K:
                failed.append(text)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    wall, cpu = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    elapsed = Times(time.perf_counter() - wall, time.process_time() - cpu)
    if failed:
        raise RuntimeError(f"{K} documents were to be found, not so for {failed[0]!r}")
    return elapsed


def _fallbacks(pair: Pair, texts: Sequence[str]) -> bool:
    """Whether any of these is kept since something isn't ready."""
    before = pair.rewriter.counters["reasons"]
    for text in texts:
        pair.wrapped(text)
    after = pair.rewriter.counters["reasons"]
    return any(n > before.get(name, 0) for name, n in after.items() if name.startswith("fallback"))


def _interval(n: int) -> tuple[int, int]:
    """Ranks from 0 between which the median of ``n`` lies with 95% (normal approximation)."""
    half = 0.98 * n**0.5
    return max(0, round(n / 2 - half)), min(n - 1, round(n / 2 + half))


_texts: list[Iterator[str]] = []


def _new_texts() -> Iterator[str]:
    """Questions that nobody asked before in this process."""
    if not _texts:
        _texts.append(iter(Writer(2).queries(200_000)))
    return _texts[0]


def _client(place: str, folder: Path, stack: ExitStack) -> Any:
    if place == "server":
        (folder / "server").mkdir(exist_ok=True)
        return stack.enter_context(chroma_server(Path(tempfile.mkdtemp(dir=folder / "server"))))
    return chromadb.PersistentClient(tempfile.mkdtemp(dir=folder))


def _vectors(kind: str, embedder: Embedder) -> Any:
    texts = list(Writer().documents().values())
    if kind == "minilm":
        return CachedEmbedder(embedder, default_cache_dir() / "benchmarks.sqlite").embed_documents(
            texts
        )
    return embedder.embed_documents(texts)


def _checkpoint(collection: Any, policy: str) -> Checkpoint:
    """A policy over a collection; another embedder than the collection's is good enough for it."""
    size = len(collection.peek(1)["embeddings"][0])
    action = POLICIES[policy]
    return settled_checkpoints(
        chroma_retriever(collection, _Cheap(size), refresh_seconds=3600.0), [action]
    )[action]


class _Cheap:
    """Embeds anything, at no cost."""

    name = "cheap"

    def __init__(self, size: int) -> None:
        self._size = size

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Embeddings, ``(n, d)``."""
        return HashedWords().embed_documents(texts)[:, [n % 256 for n in range(self._size)]]

    embed_queries = embed_documents


if __name__ == "__main__":
    main()
