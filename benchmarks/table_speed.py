"""How fast a reward table is built over Chroma: queries a second, by stage, and peak memory.

10,000 generated documents in an embedded Chroma collection with its BM25 index, a hashing embedder,
the default actions and features; every action that is possible is carried out on every query. A
stage's time is its own: what it calls counts for the inner stage. Run it from the repository root:
``python -m benchmarks.table_speed``.
"""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import chromadb

from benchmarks._support import (
    HashedWords,
    Stopwatch,
    Writer,
    fill_collection,
    print_table,
)
from rl_rewriter.actions.space import default_actions
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.fit import collection_statistics
from rl_rewriter.types import Query

N_QUERIES = 500
_MIB = 1024.0


def main() -> None:
    """Measure and print."""
    documents, embedder = Writer().documents(), HashedWords()
    vectors = embedder.embed_documents(list(documents.values()))
    collection = fill_collection(chromadb.EphemeralClient(), documents, vectors)
    queries = [Query(text, id=f"q{row}") for row, text in enumerate(Writer(2).queries(N_QUERIES))]
    qrels = {query.id: {f"d{row}": 1.0} for row, query in enumerate(queries)}
    clock = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        retriever = chroma_retriever(
            collection, embedder, cache_dir=Path(folder), refresh_seconds=3600.0
        )
        terms = collection_statistics(retriever)
        retriever.lexical(["warm"], k=1)
        actions, groups = default_actions(retriever.offers), default_features(retriever.offers)
        memory = peak_mib()
        clock.watch(retriever.base, "search", "chroma search")
        clock.watch(retriever.base, "document_vectors", "chroma vectors by id")
        clock.watch(retriever.base, "embed_queries", "embedding")
        clock.watch(retriever._index.current_index(), "scores", "BM25 scores")
        clock.watch(retriever, "lexical", "BM25 ranking")
        clock.watch(retriever, "search", "fusion")
        with clock.stage("evidence, features, rewriting"):
            outcomes = carry_out(queries, retriever, terms, actions, groups, depth=10)
        with clock.stage("judging"):
            features = groups.fitted_on(outcomes.features)
            reward_table(outcomes, qrels, features, RewardConfig())
    total = sum(clock.seconds.values())
    cells = int(outcomes.mask.sum())
    print_table(
        ("stage", "seconds", "ms a query", "share"),
        [
            (stage, f"{value:.2f}", f"{1000 * value / N_QUERIES:.2f}", f"{value / total:.0%}")
            for stage, value in sorted(clock.seconds.items(), key=lambda entry: -entry[1])
        ],
    )
    print(
        f"{N_QUERIES} queries, {cells} actions carried out: {N_QUERIES / total:.0f} queries/s, "
        f"{cells / total:.0f} actions/s; peak memory {peak_mib():.0f} MiB, {memory:.0f} MiB of "
        "them before the first query"
    )


def peak_mib() -> float:
    """Largest resident memory of this process so far, in MiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB


if __name__ == "__main__":
    main()
