"""What chosen actions send, carried out again for those who look at it, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Matrix, Needs, Query, Rewrite

TIMED_QUERIES = 100


def rewrites_of(
    queries: Sequence[Query],
    actions: ActionSpace,
    chosen: Rows,
    retriever: Retriever,
    statistics: CollectionStatistics,
    features: Matrix,
) -> tuple[Rewrite, ...]:
    """What each query's action sends; the query where it has nothing to work with.

    Args:
        queries: The ``n`` queries.
        actions: The actions.
        chosen: Index of each query's action, ``(n,)``.
        retriever: Where evidence is searched.
        statistics: Term weights of the collection.
        features: What the policy sees, not standardised, ``(n, d)``.
    """
    sent = [Rewrite.keep(query) for query in queries]
    rows = [row for row, action in enumerate(chosen) if action]  # 0 is keep
    needs = reduce(or_, (actions[chosen[row]].needs for row in rows), Needs.NOTHING)
    evidence = gather([queries[row] for row in rows], retriever, statistics, needs & ~Needs.HISTORY)
    for row, item in zip(rows, evidence, strict=True):
        item.features = features[row]
        sent[row] = actions[chosen[row]].rewrite(item) or sent[row]
    return tuple(sent)


def decision_times(
    queries: Sequence[Query], checkpoint: Checkpoint, retriever: Retriever
) -> tuple[float, ...]:
    """Milliseconds that decisions about single queries take, evidence included.

    Embeddings are in the cache by then: what an embedding takes depends on the model alone.
    """
    decider = Decider(checkpoint)
    timed = queries[:TIMED_QUERIES]
    for query in timed[:1]:
        decider.plan(query, retriever)
    return tuple(decider.plan(query, retriever).decision.latency_ms for query in timed)
