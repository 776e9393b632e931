"""What one decision costs besides embedding the query and searching.

10,000 generated documents in an embedded Chroma collection with its BM25 index, a hashing embedder,
the default actions and features, and a network of 64 hidden units with random weights whose output
bias settles which action is taken. Every call of ``decide`` is timed; what the retriever spends on
embedding, searching and fetching is timed too and taken off. Run it from the repository root:
``python -m benchmarks.decide_latency``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import chromadb

from benchmarks._support import (
    HISTORY,
    HashedWords,
    Stopwatch,
    Writer,
    fill_collection,
    percentiles,
    print_table,
    settled_checkpoints,
)
from rl_rewriter import RLQueryRewriter
from rl_rewriter.retrieval.over_chroma import chroma_retriever

N_QUERIES = 400
WARM_UP = 50
CASES = {
    "keep": ("keep", ()),
    "feedback, vector": ("move_bm25_3@0.4", ()),
    "feedback, terms": ("expand_3x5", ()),
    "fusion": ("fuse_bm25@0.4", ()),
    "text": ("keywords", ()),
    "text, mixed": ("top_idf_4@0.5", ()),
    "keep, with history": ("keep", HISTORY),
    "history, mixed": ("history_each_turn@0.5", HISTORY),
    "history in front": ("history_last_user_in_front", HISTORY),
}
RETRIEVER_METHODS = ("embed_queries", "search", "lexical", "document_vectors")


def main() -> None:
    """Measure and print."""
    documents, embedder = Writer().documents(), HashedWords()
    texts = Writer(2).queries(WARM_UP + N_QUERIES)
    vectors = embedder.embed_documents(list(documents.values()))
    collection = fill_collection(chromadb.EphemeralClient(), documents, vectors)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        retriever = chroma_retriever(
            collection, embedder, cache_dir=Path(folder), refresh_seconds=3600.0
        )
        checkpoints = settled_checkpoints(retriever, [action for action, _ in CASES.values()])
        clock = Stopwatch()
        for method in RETRIEVER_METHODS:
            clock.watch(retriever, method, "retriever")
        for case, (action, history) in CASES.items():
            rewriter = RLQueryRewriter(retriever, checkpoint=checkpoints[action])
            own, whole = measure(rewriter, action, history, texts, clock)
            median, p95 = percentiles(own)
            rows.append((case, action, *(f"{v:.2f}" for v in (median, p95, percentiles(whole)[0]))))
    print_table(("decision", "action", "own median ms", "own p95 ms", "whole median ms"), rows)


def measure(
    rewriter: RLQueryRewriter,
    action: str,
    history: tuple[tuple[str, str], ...],
    texts: list[str],
    clock: Stopwatch,
) -> tuple[list[float], list[float]]:
    """Milliseconds of each decision without and with the retriever."""
    own, whole = [], []
    for text in texts:
        searched = clock.seconds.get("retriever", 0.0)
        started = time.perf_counter()
        decision = rewriter.decide(text, history=history)
        elapsed = time.perf_counter() - started
        if decision.action != action:
            raise RuntimeError(f"{action} was to be taken, not {decision.action}")
        whole.append(1000.0 * elapsed)
        own.append(1000.0 * (elapsed - clock.seconds["retriever"] + searched))
    return own[WARM_UP:], whole[WARM_UP:]


if __name__ == "__main__":
    main()
