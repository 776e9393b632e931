"""What the serving cache saves, what its check of the collection costs, and what it holds.

10,000 generated documents in a persistent Chroma collection with its BM25 index, a hashing embedder
(so that embedding, the larger part with a real model, costs nothing here), the default actions and
features, and a policy whose output bias settles which action is taken. Each question is decided and
searched (``RLQueryRewriter.retrieve``, k = 10) without a cache, with an empty one, and again with
what that one holds. Then a cache is filled with rankings of ten documents of 2,000 characters until
they are four times as large as its bound. Run it from the repository root:
``python -m benchmarks.serving_cache``.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import chromadb
import numpy as np

from benchmarks._support import (
    HashedWords,
    Writer,
    fill_collection,
    percentiles,
    print_table,
    settled_checkpoints,
)
from rl_rewriter import RLQueryRewriter
from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.chroma_version import collection_version, count_version
from rl_rewriter.retrieval.over_chroma import serving_retriever
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Ranking

N_QUERIES = 200
WARM_UP = 30
CASES = {
    "keep": "keep",
    "feedback in the vector": "move_bm25_3@0.4",
    "fusion with BM25": "fuse_bm25@0.4",
    "text": "keywords",
}
CHECKS = 2000
TEXT_CHARS = 2000
MIB = 2**20


def main() -> None:
    """Measure and print."""
    # First of all: later, what others left behind would be filled before the process grows.
    print_table(("max_bytes MiB", "held MiB", "entries", "RSS grew by MiB"), [memory()])
    print()
    with tempfile.TemporaryDirectory() as folder:
        collection = filled(Path(folder))
        print_table(
            ("action", "without", "p95", "empty", "p95", "held", "p95", "(milliseconds)"),
            [requests(collection, Path(folder), *case) for case in CASES.items()],
        )
        checks: dict[str, Callable[[Any], Hashable | None]] = {
            "commits of the file": collection_version,
            "number of documents": count_version,
        }
        print()
        rows = [(name, f"{microseconds(check, collection):.1f}") for name, check in checks.items()]
        print_table(("check of the collection", "median us"), rows)


def filled(folder: Path) -> Any:
    """A persistent collection of generated documents."""
    documents = Writer().documents()
    vectors = HashedWords().embed_documents(list(documents.values()))
    client = chromadb.PersistentClient(str(folder / "chroma"))
    return fill_collection(client, documents, vectors)


def requests(collection: Any, folder: Path, case: str, action: str) -> tuple[str, ...]:
    """Median and 95th percentile of whole requests, in milliseconds, by what the cache holds."""
    texts = Writer(2).queries(WARM_UP + N_QUERIES)
    times = []
    for cache, rounds in ((None, 1), (ServingCache(), 2)):
        retriever = serving_retriever(
            collection, HashedWords(), cache=cache, cache_dir=folder, refresh_seconds=3600.0
        )
        checkpoint = settled_checkpoints(retriever, [action])[action]
        rewriter = RLQueryRewriter(retriever, checkpoint=checkpoint, budget=Budget(seconds=None))
        for _ in range(rounds):
            times.append([milliseconds(rewriter, text, action) for text in texts][WARM_UP:])
    return (case, *(f"{value:.2f}" for series in times for value in percentiles(series)), "")


def milliseconds(rewriter: RLQueryRewriter, text: str, action: str) -> float:
    """One request."""
    started = time.perf_counter()
    decision = rewriter.retrieve(text, k=10).decision
    elapsed = time.perf_counter() - started
    if decision.action != action:
        raise RuntimeError(f"{action} was to be taken, not {decision.action}")
    return 1000.0 * elapsed


def microseconds(check: Callable[[Any], Hashable | None], collection: Any) -> float:
    """Median of one check."""
    times = []
    for _ in range(CHECKS):
        started = time.perf_counter()
        if check(collection) is None:
            raise RuntimeError("the state of the collection cannot be told here")
        times.append(1e6 * (time.perf_counter() - started))
    return percentiles(times)[0]


def memory() -> tuple[str, ...]:
    """Bound, estimate, entries and growth of the process when four times the bound was put in."""
    config = CacheConfig()
    cache, rng = ServingCache(config), np.random.default_rng(0)
    gc.collect()
    before, put = resident_bytes(), 0
    while put < 4 * config.max_bytes:
        ranking = long_ranking(rng)
        put += 10 * TEXT_CHARS
        cache.put(("ranking", put), ranking)
    gc.collect()
    stats = cache.stats()
    sizes = (config.max_bytes, stats.bytes)
    grown = resident_bytes() - before
    return (*(f"{size / MIB:.1f}" for size in sizes), str(stats.entries), f"{grown / MIB:.1f}")


def long_ranking(rng: np.random.Generator) -> Ranking:
    """Ten documents with texts and metadata of their own."""
    names = [f"document-{number}" for number in rng.integers(10**9, size=10)]
    return Ranking(
        ids=tuple(names),
        scores=rng.random(10, dtype=np.float32),
        texts=tuple((name * TEXT_CHARS)[:TEXT_CHARS] for name in names),
        metadatas=tuple({"source": name, "page": row} for row, name in enumerate(names)),
    )


def resident_bytes() -> int:
    """Memory that this process has in use."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("this system doesn't tell what a process has in use")


if __name__ == "__main__":
    main()
