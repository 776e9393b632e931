"""From judged queries to a checkpoint: split, table, what its queries earn, and a report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.envs.outcomes import Outcomes, reward_table
from rl_rewriter.envs.retrieval import OutcomeSource, carry_out, check_documents, judged
from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import DocumentSource, Refreshable, Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.blend_material import pools_of, single_actions
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.learning import Material, learn, told_of
from rl_rewriter.training.on_rows import training_rows
from rl_rewriter.training.references import held_to_checkpoint
from rl_rewriter.training.report import FitReport, training_summary
from rl_rewriter.training.requirements import require_torch
from rl_rewriter.training.splits import conversation_of, query_fingerprint
from rl_rewriter.types import Needs, OnProgress, Qrels, Query


def fit_policy(
    queries: Sequence[Query],
    qrels: Qrels,
    retriever: Retriever,
    *,
    actions: ActionSpace | None = None,
    config: FitConfig | None = None,
    groups: Sequence[str] | None = None,
    outcomes: OutcomeSource | None = None,
    reference: Checkpoint | None = None,
    on_progress: OnProgress | None = None,
    metrics_dir: Path | None = None,
) -> tuple[Checkpoint, FitReport]:
    """Train a policy against a retriever and judged queries.

    Args:
        queries: Queries with ids.
        qrels: Judgements by query id.
        retriever: The environment.
        actions: What may be done; all built-in actions that the retriever can carry out by default.
            Actions that no training query can carry out are left out.
        config: Settings.
        groups: One name a query; queries of a group are never divided between training and
            validation. By default the queries of one conversation belong together.
        outcomes: Where the outcomes of actions come from; searched here by default.
        reference: A policy for the KL term to hold to, instead of what ``config`` names.
        on_progress: Told how far each stage is.
        metrics_dir: Where training metrics are written; nowhere by default.

    Returns:
        The checkpoint and the report.

    Raises:
        InputError: No query is judged, judgements name unknown documents, or there are too few
            queries to hold some out.
        CollectionError: The collection is empty or cannot be searched.
        TrainingError: Training diverged.
        MissingExtraError: torch or scikit-learn isn't installed.
    """
    require_torch()
    config = config or FitConfig()
    tell = on_progress or (lambda stage, done, total: None)
    usable, names = _judged(queries, qrels, groups)
    rows = training_rows(names, config)
    learned_from = [usable[row] for row in rows[0]]
    space = single_actions(actions or default_actions(retriever.offers), config)
    space = space.possible_for(learned_from, retriever.offers)
    clock = _Clock()
    statistics = _statistics_as_of_now(usable, qrels, retriever)
    clock.lap("statistics")
    features = _features(retriever, learned_from, statistics, config)
    source = outcomes or _searching(retriever, statistics, tell)
    found = source(usable, space, features, config.reward.metric.depth)
    table = reward_table(found, qrels, features, config.reward)
    pools = None
    if reference is None:
        pools = pools_of(usable, retriever, statistics, qrels, config)
    held = held_to_checkpoint(reference, table) if reference is not None else None
    clock.lap("reward_table")
    material = Material(table, features, tuple(names), rows, pools, held)
    learned = learn(material, config, tell, metrics_dir)
    clock.lap("train")
    if learned.blend is not None:
        space = space.extended([learned.blend])
    outcome, features = learned.fitted.outcome, learned.fitted.features
    version = Checkpoint(outcome.policy, space, features, statistics).version
    report = replace(
        told_of(material, learned, config),
        policy_version=version,
        seconds=clock.laps,
        seen=tuple(query_fingerprint(query) for query in usable),
    )
    summary = training_summary(config, report, retriever)
    return Checkpoint(outcome.policy, space, features, statistics, summary), report


def _statistics_as_of_now(
    usable: Sequence[Query], qrels: Qrels, retriever: Retriever
) -> CollectionStatistics:
    """Term weights of the collection as it is now, which holds all relevant documents."""
    if isinstance(retriever, Refreshable):
        retriever.refresh()
    statistics = collection_statistics(retriever)
    check_documents(usable, qrels, retriever)
    return statistics


def collection_statistics(retriever: Retriever) -> CollectionStatistics:
    """Term weights of the retriever's collection; empty ones where its texts can't be read.

    Raises:
        CollectionError: The collection is empty.
    """
    statistics = retriever.statistics()
    if isinstance(retriever, DocumentSource) and not statistics.n_documents:
        raise CollectionError("the collection holds no documents; add some before training on it")
    return statistics


class _Clock:
    """Wall time by stage, in seconds."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._started = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage] = round(now - self._started, 3)
        self._started = now


def _judged(
    queries: Sequence[Query], qrels: Qrels, groups: Sequence[str] | None
) -> tuple[list[Query], list[str]]:
    """The judged queries, and what each of them belongs to."""
    if groups is not None and len(groups) != len(queries):
        raise InputError(f"got {len(groups)} groups for {len(queries)} queries")
    ids = [query.id for query in queries]
    if len(set(ids)) != len(ids) or "" in ids:
        raise InputError("every query to train on needs an id of its own: Query(text, id=...)")
    group_of = dict(zip(ids, groups, strict=True)) if groups is not None else {}
    usable = judged(queries, qrels)
    return usable, [group_of.get(query.id) or conversation_of(query) for query in usable]


def _features(
    retriever: Retriever,
    train: Sequence[Query],
    statistics: CollectionStatistics,
    config: FitConfig,
) -> FeatureSet:
    """The groups that the retriever can feed, not yet fitted."""
    if not config.embedding_components:
        return default_features(retriever.offers)
    vectors = gather(train, retriever, statistics, Needs.VECTOR)
    return default_features(
        retriever.offers, vectors, embedding_components=config.embedding_components
    )


def _searching(
    retriever: Retriever, statistics: CollectionStatistics, tell: OnProgress
) -> OutcomeSource:
    def search(
        queries: Sequence[Query], actions: ActionSpace, features: FeatureSet, depth: int
    ) -> Outcomes:
        return carry_out(
            queries,
            retriever,
            statistics,
            actions,
            features,
            depth=depth,
            on_progress=lambda done: tell("reward table", done, len(queries)),
        )

    return search
