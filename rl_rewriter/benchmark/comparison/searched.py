"""Everything that a comparison asks of a retriever, once for all arms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig, depth_of
from rl_rewriter.benchmark.comparison.division import Division, divide
from rl_rewriter.benchmark.tables import outcome_source
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes, reward_table
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import Table
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.requirements import has_torch
from rl_rewriter.types import OnProgress, Qrels


@dataclass(frozen=True, eq=False)
class Searched:
    """Outcomes of every action on every query.

    Attributes:
        bench: What was searched.
        division: The ``n`` queries, and how they are divided.
        statistics: Term weights of the collection.
        features: What states are made of, not fitted.
        actions: The ``m`` actions that some query can carry out.
        outcomes: What they retrieved.
        table: The same judged, with raw states.
        metrics: What is reported, the one that choices are made by first.
        pools: What blends are trained on; None where none is learned.
        seconds: Time that it took.
    """

    bench: Workbench
    division: Division
    statistics: CollectionStatistics
    features: FeatureSet
    actions: ActionSpace
    outcomes: Outcomes
    table: RewardTable
    metrics: tuple[Metric, ...]
    pools: Pools | None
    seconds: float


def search(
    bench: Workbench,
    config: BenchmarkConfig,
    *,
    order: Mapping[str, int] | None = None,
    on_progress: OnProgress | None = None,
) -> Searched:
    """Carry out every action on every query, or look up what is known of it.

    Args:
        bench: What to search, with judged queries.
        config: How to divide the queries, and how deep metrics look.
        order: Query id -> place, for the order of cross-validated queries.
        on_progress: Told how far the search is.
    """
    started = time.perf_counter()
    division = divide(bench, config, order)
    statistics, offers = bench.retriever.statistics(), bench.retriever.offers
    features = default_features(offers)
    actions = bench.actions.possible_for(division.queries, offers)
    metrics = config.reported(bench.reward.metric)
    source = outcome_source(bench, statistics, on_progress)
    outcomes = source(division.queries, actions, features, depth_of(metrics))
    table = reward_table(outcomes, bench.qrels, features, bench.reward)
    pools = None
    if config.seeds and has_torch():
        from rl_rewriter.training.blend_material import pools_of

        pools = pools_of(division.queries, bench.retriever, statistics, bench.qrels, config.fit)
    return Searched(
        bench,
        division,
        statistics,
        features,
        actions,
        outcomes,
        table,
        metrics,
        pools,
        time.perf_counter() - started,
    )


def values_by_metric(
    outcomes: Outcomes, qrels: Qrels, metrics: tuple[Metric, ...]
) -> dict[str, Table]:
    """Value of every action on every query by every metric, ``(n, m)`` each."""
    judged = outcomes.judged(qrels)
    return {metric.name: metric.values(judged) for metric in metrics}
