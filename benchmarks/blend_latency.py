"""What a learned blend costs besides embedding and searching, and what it asks for.

10,000 generated documents in an embedded Chroma collection with its BM25 index, a hashing embedder,
and a policy that always takes a blend of twelve views, whose weights three networks shift by query.
Calls of ``decide`` and of ``retrieve`` are timed by stage; "own" is what no stage takes: gathering,
the state, the choice, composing the rewrite, and for ``retrieve`` fusing what was found. Stages and
counts are those of ``retrieve``: medians of milliseconds, means of counts. Its "BM25 terms" are
those whose postings were read, once for each time. The 10th percentile is what a busy machine
leaves untouched. Run it from the repository root: ``python -m benchmarks.blend_latency``.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np

from benchmarks._support import (
    HISTORY,
    HashedWords,
    Stopwatch,
    Writer,
    blend_checkpoint,
    fill_collection,
    print_table,
)
from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.term_counts import Mask, TermCounts
from rl_rewriter.types import Filters, Vector

N_QUERIES = 400
WARM_UP = 50
K = 10
CASES: Mapping[str, Mapping[str, Any]] = {
    "blend": {},
    "blend, with history": {"history": HISTORY},
    "blend, filtered": {"filters": Filters(where_document={"$contains": "card"})},
}
COUNTED = ("embeddings", "vector searches", "BM25 searches", "BM25 terms")
STAGES = ("embeddings", "vector searches", "vectors and texts", "filter", "BM25 searches")


@dataclass(frozen=True)
class Measured:
    """Milliseconds of one request, its own beside those of each stage, and what it asked for."""

    own: float
    stages: Mapping[str, float]
    counts: Mapping[str, int]


class Probe:
    """Times what a retriever spends, and counts what it is asked for.

    Args:
        dense: Its vector search.
        words: Its BM25 index.
    """

    def __init__(self, dense: ChromaRetriever, words: ChromaBm25) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = Stopwatch()
        index = words.current_index()
        for target, method, stage in (
            (dense, "embed_queries", "embeddings"),
            (dense, "search", "vector searches"),
            (dense, "document_vectors", "vectors and texts"),
            (dense, "documents", "vectors and texts"),
            (words, "allowed", "filter"),
            (index, "scores", "BM25 searches"),
        ):
            self._count(target, method, stage)
            self._clock.watch(target, method, stage)
        self._count_terms()

    def spent(self) -> dict[str, float]:
        """Milliseconds by stage so far."""
        return {stage: 1000.0 * self._clock.seconds.get(stage, 0.0) for stage in STAGES}

    def _count(self, target: Any, method: str, stage: str) -> None:
        original = getattr(target, method)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.counts[stage] += 1
            return original(*args, **kwargs)

        setattr(target, method, counted)

    def _count_terms(self) -> None:
        of_terms, of_words = TermCounts.scores, TermCounts.pooled_scores

        def scores(
            counts: TermCounts, weights: Mapping[str, float], allowed: Mask | None = None
        ) -> Vector:
            self.counts["BM25 terms"] += sum(term in counts.vocabulary for term in weights)
            return of_terms(counts, weights, allowed)

        def pooled_scores(
            counts: TermCounts,
            words: Iterable[tuple[float, Mapping[str, float]]],
            allowed: Mask | None = None,
        ) -> Vector:
            words = list(words)
            self.counts["BM25 terms"] += sum(len(terms) for _, terms in words)
            return of_words(counts, words, allowed)

        TermCounts.scores = scores  # type: ignore[method-assign,assignment]  # counts
        TermCounts.pooled_scores = pooled_scores  # type: ignore[method-assign,assignment]  # counts


def main() -> None:
    """Measure and print."""
    documents, embedder = Writer().documents(), HashedWords()
    texts = Writer(2).queries(WARM_UP + N_QUERIES)
    vectors = embedder.embed_documents(list(documents.values()))
    collection = fill_collection(chromadb.EphemeralClient(), documents, vectors)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        dense = ChromaRetriever(collection, embedder)
        words = ChromaBm25(collection, cache_dir=Path(folder), refresh_seconds=3600.0)
        retriever = HybridRetriever(dense, words)
        rewriter = RLQueryRewriter(retriever, checkpoint=blend_checkpoint(retriever))
        probe = Probe(dense, words)
        for case, asked in CASES.items():
            decided = [measure(probe, rewriter.decide, text, asked) for text in texts]
            asked = {**asked, "k": K}
            served = [measure(probe, rewriter.retrieve, text, asked) for text in texts]
            rows.append((case, *_summary(decided[WARM_UP:], served[WARM_UP:])))
    own = (
        f"{call} own {name}" for call in ("decide", "retrieve") for name in ("p10", "p50", "p95")
    )
    print_table(("request", *own, *(f"{stage} ms" for stage in STAGES), *COUNTED), rows)


def measure(
    probe: Probe, call: Callable[..., Any], text: str, asked: Mapping[str, Any]
) -> Measured:
    """Make one request."""
    probe.counts.clear()
    before, started = probe.spent(), time.perf_counter()
    result = call(text, **asked)
    elapsed = 1000.0 * (time.perf_counter() - started)
    decision = getattr(result, "decision", result)
    if decision.action != BLEND:
        raise RuntimeError(f"{BLEND} was to be taken, not {decision.action}: {decision.reason}")
    spent = {stage: after - before[stage] for stage, after in probe.spent().items()}
    return Measured(elapsed - sum(spent.values()), spent, dict(probe.counts))


def _summary(decided: list[Measured], served: list[Measured]) -> list[str]:
    times = [
        float(np.percentile([request.own for request in requests], rank))
        for requests in (decided, served)
        for rank in (10, 50, 95)
    ]
    times += [float(np.median([request.stages[stage] for request in served])) for stage in STAGES]
    means = [np.mean([request.counts.get(name, 0) for request in served]) for name in COUNTED]
    return [*(f"{value:.2f}" for value in times), *(f"{mean:.1f}" for mean in means)]


if __name__ == "__main__":
    main()
