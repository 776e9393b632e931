"""Many threads decide while the policy is swapped; and memory over many requests.

64 threads ask 1,000 questions each (``retrieve`` and ``record``, drawn actions, BM25 over a small
corpus in memory) while the policy is swapped every 50 milliseconds for another one of four, which
differ in actions, probabilities and features. Wrong are: a decision whose action, probabilities,
propensity, features or their number aren't all those of its version; a record that is missing,
doubled or says something else; a count that differs; a thread that doesn't end. Then 200,000
requests are made by 8 threads with everything on: a registry's deployment as canary, a log that
rotates, listeners (Prometheus, drift), a cache that is full, counters; the memory in use is read
every 5,000 requests and compared with that after the first 20,000. Exits with 1 where anything is
wrong. Run it from the repository root: ``python -m benchmarks.swap_under_load``, or only one half:
``--only swap``, ``--only memory``.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import tempfile
import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prometheus_client import CollectorRegistry

from benchmarks.serving_cache import MIB, resident_bytes
from rl_rewriter import RLQueryRewriter
from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.monitoring.watch import DriftWatch
from rl_rewriter.retrieval.cached import CachedRetriever, SearchState
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.rollout.deployment import RegistryDeployment
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.serving.limits import Budget
from rl_rewriter.telemetry.prometheus import PrometheusListener
from tests.support import DOCUMENTS, QUERIES
from tests.swapping import differences, distinguishable, swap_under_load, versions_of

THREADS, REQUESTS, EVERY = 64, 1000, 0.05
MEMORY_REQUESTS, WARM_UP, SAMPLE = 200_000, 20_000, 5_000
MAX_GROWTH = 30.0
"""MiB."""
_PATIENCE = 1800.0


def main() -> int:
    """Run both, and print."""
    parser = argparse.ArgumentParser(description="Swaps under load, and memory.")
    parser.add_argument("--only", choices=("swap", "memory"))
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    is_fine = True
    with tempfile.TemporaryDirectory() as folder:
        if given.only != "memory":
            is_fine &= swaps(Path(folder))
        if given.only != "swap":
            is_fine &= memory(Path(folder))
    return 0 if is_fine else 1


def swaps(folder: Path) -> bool:
    """Whether every decision was whole, counted and logged."""
    retriever, log = Bm25Retriever(DOCUMENTS), folder / "swaps.jsonl"
    checkpoints = distinguishable(retriever)
    known = versions_of(checkpoints, retriever)
    rewriter = RLQueryRewriter(
        retriever, checkpoint=checkpoints[0], log=log, budget=Budget(seconds=60.0), seed=0
    )
    started = time.perf_counter()
    swapped = swap_under_load(
        rewriter,
        checkpoints,
        threads=THREADS,
        requests=REQUESTS,
        every=EVERY,
        patience=_PATIENCE,
    )
    seconds = time.perf_counter() - started
    n_asked, mixed = len(swapped.decisions), swapped.mixed(known)
    wrong = differences(log, swapped.decisions)
    counters = rewriter.counters
    is_counted = counters["policies"] == swapped.by_version()
    print(f"requests                  {n_asked:,} in {seconds:.0f} s, {THREADS} threads")
    print(f"swaps                     {swapped.swaps:,}")
    print(f"decisions by version      {sorted(swapped.by_version().values())}")
    print(f"reasons                   {counters['reasons']}")
    print(f"mixed decisions           {mixed}")
    print(f"records wrong             {len(wrong)}")
    print(f"counts by version right   {is_counted}")
    print(f"threads that didn't end   {swapped.alive}", flush=True)
    return n_asked == THREADS * REQUESTS and not (mixed or wrong or swapped.alive) and is_counted


def memory(folder: Path) -> bool:
    """Whether the process stays as large as it is after the warm-up."""
    plain = Bm25Retriever(DOCUMENTS)
    cache = ServingCache(CacheConfig(max_entries=2000))
    retriever = CachedRetriever(plain, cache, SearchState(documents=_unchanged))
    registry = PolicyRegistry(folder / "registry")
    for row, checkpoint in enumerate(distinguishable(plain)[:2]):
        registry.promote(registry.add(checkpoint), share=1.0 if row == 0 else 0.3)
    config = LogConfig(max_bytes=20 * MIB, keep=2, compress=False)
    rewriter = RLQueryRewriter(
        retriever,
        deployment=RegistryDeployment(registry),
        log=DecisionLog(folder / "memory.jsonl", config=config),
        listeners=[PrometheusListener(CollectorRegistry()), DriftWatch(every=5000)],
        budget=Budget(seconds=60.0),
    )

    def ask(number: int) -> str:
        text = f"{QUERIES[number % len(QUERIES)]} {number % 50_000}"
        found = rewriter.retrieve(text, explore=True, session=f"session-{number // 4}")
        rewriter.record(found.decision, found.ranking)
        return found.decision.reason

    sizes, reasons = [], set()
    started = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        for first in range(0, WARM_UP + MEMORY_REQUESTS, SAMPLE):
            reasons |= set(pool.map(ask, range(first, first + SAMPLE)))
            gc.collect()
            sizes.append(resident_bytes() / MIB)
    after = sizes[WARM_UP // SAMPLE - 1 :]
    growth = max(after) - after[0]
    print(f"requests                  {MEMORY_REQUESTS:,} after {WARM_UP:,} to warm up")
    print(f"seconds                   {time.perf_counter() - started:.0f}")
    print(f"reasons                   {sorted(reasons)}")
    print(f"cache                     {cache.stats()}")
    print(f"MiB after the warm-up     {after[0]:.1f}")
    print(f"MiB at the end            {after[-1]:.1f}, at most {max(after):.1f}")
    print(f"every 25,000 requests     {' '.join(f'{size:.1f}' for size in after[::5])}")
    return growth < MAX_GROWTH


def _unchanged() -> Hashable:
    return "unchanged"


if __name__ == "__main__":
    sys.exit(main())
