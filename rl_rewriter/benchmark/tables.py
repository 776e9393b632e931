"""Outcomes of a workbench's queries: from its store, or searched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.outcome_store import OutcomeStore
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.envs.retrieval import OutcomeSource, carry_out
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.protocols import Fingerprinted
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import OnProgress, Query


def outcome_source(
    bench: Workbench, statistics: CollectionStatistics, on_progress: OnProgress | None = None
) -> OutcomeSource:
    """Where the outcomes of a workbench come from: its store, or a search where it has none."""
    tell = on_progress or (lambda stage, done, total: None)
    identity = bench.retriever.fingerprint() if isinstance(bench.retriever, Fingerprinted) else None
    if bench.cache_dir is not None and identity is not None:
        return OutcomeStore(
            bench.cache_dir / "outcomes",
            bench.retriever,
            statistics,
            identity=identity,
            on_progress=tell,
        )

    def search(
        queries: Sequence[Query], actions: ActionSpace, features: FeatureSet, depth: int
    ) -> Outcomes:
        count = partial(_count, tell, len(queries))
        return carry_out(
            queries, bench.retriever, statistics, actions, features, depth=depth, on_progress=count
        )

    return search


def plain_outcomes(
    bench: Workbench,
    queries: Sequence[Query],
    *,
    depth: int | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Outcomes, FeatureSet]:
    """Outcomes of the actions that any of the queries can carry out, with the default features.

    Args:
        bench: What to search.
        queries: The queries.
        depth: Documents of each ranking; what the metric looks at by default.
        on_progress: Told how far the search is.

    Returns:
        The outcomes, and the features they hold, not fitted.
    """
    features = default_features(bench.retriever.offers)
    source = outcome_source(bench, bench.retriever.statistics(), on_progress)
    actions = bench.actions.possible_for(queries, bench.retriever.offers)
    return source(queries, actions, features, depth or bench.reward.metric.depth), features


def checkpoint_outcomes(
    bench: Workbench,
    queries: Sequence[Query],
    checkpoint: Checkpoint,
    depth: int,
    on_progress: OnProgress | None = None,
) -> Outcomes:
    """Outcomes of a checkpoint's actions, with the features that its policy looks at."""
    source = outcome_source(bench, checkpoint.statistics, on_progress)
    return source(queries, checkpoint.actions, checkpoint.features, depth)


def _count(tell: OnProgress, total: int, done: int) -> None:
    tell("reward table", done, total)
