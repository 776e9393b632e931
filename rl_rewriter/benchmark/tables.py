"""Reward tables of a workbench's queries under a checkpoint or under plain settings."""

from __future__ import annotations

from collections.abc import Sequence

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.retrieval import gather_evidence, reward_table
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.types import OnProgress, Query, TermStatistics


def checkpoint_table(
    bench: Workbench,
    queries: Sequence[Query],
    checkpoint: Checkpoint,
    on_progress: OnProgress | None = None,
) -> RewardTable:
    """Outcomes of a checkpoint's actions, with states as its policy sees them."""
    return _table(
        bench, queries, checkpoint.statistics, checkpoint.actions, checkpoint.features, on_progress
    )


def plain_table(
    bench: Workbench, queries: Sequence[Query], on_progress: OnProgress | None = None
) -> RewardTable:
    """Outcomes of the possible actions; states are standardised over these queries."""
    features = default_features(bench.retriever.offers)
    statistics = bench.retriever.statistics()
    actions = bench.actions.possible_for(queries, bench.retriever.offers)
    return _table(bench, queries, statistics, actions, features, on_progress)


def _table(
    bench: Workbench,
    queries: Sequence[Query],
    statistics: TermStatistics,
    actions: ActionSpace,
    features: FeatureSet,
    on_progress: OnProgress | None,
) -> RewardTable:
    evidence = gather_evidence(queries, bench.retriever, statistics, actions, features)
    fitted = features if features.mean is not None else features.fitted(evidence)
    return reward_table(
        evidence,
        bench.qrels,
        bench.retriever,
        actions,
        fitted,
        bench.reward,
        on_progress=on_progress and (lambda done: on_progress("reward table", done, len(queries))),
    )
