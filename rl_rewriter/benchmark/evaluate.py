"""A saved policy on the held-out queries of a workbench."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rl_rewriter.benchmark.arm_names import BEST_FIXED, POLICY
from rl_rewriter.benchmark.comparison.arms import Arm, OneAction, Oracle, RandomAction
from rl_rewriter.benchmark.comparison.compared import Compared, TrainedPolicies
from rl_rewriter.benchmark.comparison.config import METRICS, depth_of
from rl_rewriter.benchmark.comparison.searched import values_by_metric
from rl_rewriter.benchmark.comparison.sent import decision_times, rewrites_of
from rl_rewriter.benchmark.tables import checkpoint_outcomes
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.held_out import Choices, HeldOut, always
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import OnProgress, Query


def evaluate_checkpoint(
    bench: Workbench,
    checkpoint: Checkpoint,
    *,
    metrics: Sequence[Metric] = METRICS,
    seed: int = 0,
    headroom: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> Compared:
    """Compare a policy with keep, every action, the best single one and the per-query best.

    The single action is the one that was best on the queries the policy was trained on. Queries
    that it was trained on are left out, wherever they stand in these data. Queries that belong
    together (one need, one conversation) are tested as one.

    Args:
        bench: What to search, with judged queries.
        checkpoint: The policy.
        metrics: What is reported beside the workbench's own metric.
        seed: Seed of tests and intervals.
        headroom: What there was to gain, where that was measured before.
        on_progress: Told how far the search is.

    Raises:
        InputError: No held-out query is left, or the policy can't be used with this retriever.
    """
    missing = checkpoint.features.needs & ~bench.retriever.offers
    if missing:
        raise InputError(
            f"the policy looks at {missing.in_words} but the {bench.retriever.name} retriever "
            "doesn't offer it; use the base and store that it was trained with"
        )
    queries, notes = _unseen(bench, checkpoint.training.get("seen", ()))
    started = time.perf_counter()
    reported = tuple(dict.fromkeys((bench.reward.metric, *metrics)))
    outcomes = checkpoint_outcomes(bench, queries, checkpoint, depth_of(reported), on_progress)
    table = reward_table(outcomes, bench.qrels, checkpoint.features, bench.reward)
    searched = time.perf_counter() - started
    distribution = checkpoint.policy.distribution(table.states, table.mask)
    chosen = distribution.greedy()
    best_fixed = str(checkpoint.training.get("best_fixed", table.action_names[0]))
    return Compared(
        bench=bench,
        protocol="split",
        outcomes=outcomes,
        actions=checkpoint.actions,
        held_out=HeldOut(
            action_names=table.action_names,
            metric=bench.reward.metric.name,
            values=values_by_metric(outcomes, bench.qrels, reported),
            choices=_choices(
                table, {blend.name for blend in checkpoint.blends}, chosen[None], best_fixed, seed
            ),
            groups=bench.groups_of(queries),
            seed=seed,
        ),
        fold=np.zeros(len(queries), dtype=np.intp),
        n_folds=1,
        n_train=int(checkpoint.training.get("n_train", 0)),
        best_fixed=best_fixed,
        policies=TrainedPolicies(
            seeds=_seeds(checkpoint),
            evidence=checkpoint.features.needs,
            probability=distribution.probabilities[np.arange(len(queries)), chosen],
            checkpoint=checkpoint,
            decide_ms=decision_times(queries, checkpoint, bench.retriever),
        ),
        rewrites=rewrites_of(
            queries,
            checkpoint.actions,
            chosen,
            bench.retriever,
            checkpoint.statistics,
            outcomes.features,
        ),
        headroom=headroom,
        notes=notes,
        seconds={"reward_table": searched},
    )


def _unseen(bench: Workbench, seen: Sequence[str]) -> tuple[list[Query], tuple[str, ...]]:
    """Held-out queries that weren't trained on, and what to say about the others."""
    known = set(seen)
    asked = judged(bench.test, bench.qrels)
    queries = [query for query in asked if query_fingerprint(query) not in known]
    if not queries:
        raise InputError(
            f"the policy was trained on all held-out queries of {bench.name!r}: nothing is left to "
            "evaluate it on"
        )
    n_left_out = len(asked) - len(queries)
    if not n_left_out:
        return queries, ()
    left_out = f"{n_left_out} of {len(asked)} held-out queries left out"
    return queries, (f"{left_out}: the policy was trained on them",)


def _choices(
    table: RewardTable, blends: Collection[str], policy: Choices, best_fixed: str, seed: int
) -> dict[str, Choices]:
    """What every arm takes; learned blends are no actions that one could have taken by hand."""
    is_blend = np.asarray([name in blends for name in table.action_names])
    rng = np.random.default_rng(seed)
    names = table.action_names
    if best_fixed not in names:
        raise InputError(
            f"the policy names {best_fixed!r} as its best single action but has no such action; "
            "train it again"
        )
    single = replace(
        table,
        mask=table.mask & ~is_blend,
        values=np.where(is_blend, -np.inf, table.values),
    )
    own: tuple[Arm, ...] = (*(OneAction(name) for name in names), RandomAction(), Oracle())
    return {
        **{arm.name: arm.choose(single, single, rng) for arm in own},
        BEST_FIXED: always(names.index(best_fixed), len(table)),
        POLICY: policy,
    }


def _seeds(checkpoint: Checkpoint) -> tuple[int, ...]:
    """The seed that the policy was trained with, where its manifest tells."""
    settings = checkpoint.training.get("settings", {})
    seed = settings.get("reinforce", {}).get("seed")
    return (int(seed),) if isinstance(seed, int) else ()
