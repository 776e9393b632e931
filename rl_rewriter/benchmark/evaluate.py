"""A saved policy on the held-out queries of a workbench."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from rl_rewriter.benchmark.tables import checkpoint_table
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.held_out import HeldOut, evaluate_policy
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import Needs, OnProgress, Query, Rewrite

TIMED_QUERIES = 100


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An evaluation with what it was made on.

    Attributes:
        bench: The workbench.
        queries: The held-out queries, in the order of all arrays.
        n_left_out: Held-out queries that the policy was trained on, and that were left out.
        table: Outcome of every action on them.
        held_out: The comparison.
        rewrites: What the policy sends for each query.
        searches: Searches made for each query, those for evidence included, ``(n,)``.
        decide_ms: Milliseconds that single decisions took: evidence included, embeddings from the
            cache.
        seconds: Wall time by stage.
    """

    bench: Workbench
    queries: tuple[Query, ...]
    n_left_out: int
    table: RewardTable
    held_out: HeldOut
    rewrites: tuple[Rewrite, ...]
    searches: tuple[int, ...]
    decide_ms: tuple[float, ...]
    seconds: Mapping[str, float]


def evaluate_checkpoint(
    bench: Workbench,
    checkpoint: Checkpoint,
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Compare a policy with keep, the best single action and the per-query best.

    The single action is the one that was best on the queries the policy was trained on. Queries
    that it was trained on are left out, wherever they stand in these data. Queries that belong
    together (one need, one conversation) are tested as one.

    Raises:
        InputError: No held-out query is left, or the policy can't be used with this retriever.
    """
    missing = checkpoint.features.needs & ~bench.retriever.offers
    if missing:
        raise InputError(
            f"the policy looks at {missing.in_words} but the {bench.retriever.name} retriever "
            "doesn't offer it; use the base and store that it was trained with"
        )
    queries = _unseen(bench, checkpoint.training.get("seen", ()))
    started = time.perf_counter()
    table = checkpoint_table(bench, queries, checkpoint, on_progress)
    seconds = {"reward_table": time.perf_counter() - started}
    best_fixed = str(checkpoint.training.get("best_fixed", table.action_names[0]))
    held_out = evaluate_policy(
        checkpoint.policy, table, best_fixed, groups=bench.groups_of(queries), seed=seed
    )
    rewrites = _chosen_rewrites(bench, checkpoint, queries, held_out.chosen.tolist())
    return Evaluation(
        bench=bench,
        queries=tuple(queries),
        n_left_out=len(judged(bench.test, bench.qrels)) - len(queries),
        table=table,
        held_out=held_out,
        rewrites=tuple(rewrites),
        searches=tuple(
            _n_searches(rewrite, query, checkpoint.features.needs)
            for rewrite, query in zip(rewrites, queries, strict=True)
        ),
        decide_ms=_decision_times(bench, checkpoint, queries[:TIMED_QUERIES]),
        seconds=seconds,
    )


def _unseen(bench: Workbench, seen: Sequence[str]) -> list[Query]:
    known = set(seen)
    queries = [q for q in judged(bench.test, bench.qrels) if query_fingerprint(q) not in known]
    if not queries:
        raise InputError(
            f"the policy was trained on all held-out queries of {bench.name!r}: nothing is left to "
            "evaluate it on"
        )
    return queries


def _chosen_rewrites(
    bench: Workbench, checkpoint: Checkpoint, queries: Sequence[Query], chosen: Sequence[int]
) -> list[Rewrite]:
    """What the policy's most probable actions send."""
    actions = checkpoint.actions
    needs = reduce(or_, (actions[action].needs for action in set(chosen)), Needs.NOTHING)
    evidence = gather(queries, bench.retriever, checkpoint.statistics, needs & ~Needs.HISTORY)
    return [
        actions[action].rewrite(item) or Rewrite.keep(item.query)
        for action, item in zip(chosen, evidence, strict=True)
    ]


def _n_searches(rewrite: Rewrite, query: Query, evidence: Needs) -> int:
    """Searches of a request: for evidence, and of the rewrite where the query isn't kept."""
    looks, looks_in_bm25 = Needs.FIRST_RANKING in evidence, Needs.LEXICAL in evidence
    is_kept = rewrite.is_the_query(query)
    own = 0 if is_kept and looks else 1 + (rewrite.lexical_weight > 0)
    return int(looks) + int(looks_in_bm25) + own


def _decision_times(
    bench: Workbench, checkpoint: Checkpoint, queries: Sequence[Query]
) -> tuple[float, ...]:
    decider = Decider(checkpoint)
    decider.plan(queries[0], bench.retriever)
    return tuple(decider.plan(q, bench.retriever).decision.latency_ms for q in queries)


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile rounded to microseconds, for milliseconds."""
    return round(float(np.percentile(values, share)), 3)
