"""The retriever as environment: what each action retrieves for each query, judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.retrieval.evidence import extend, gather
from rl_rewriter.retrieval.protocols import DocumentSource, Retriever
from rl_rewriter.rewards.reward import RewardConfig, Table, gains_over_keep
from rl_rewriter.types import Evidence, Qrels, Query, Rewrite, TermStatistics

CHUNK = 256
"""Queries whose rewrites are searched in one call."""
Progress = Callable[[int], None]


def judged(queries: Sequence[Query], qrels: Qrels) -> list[Query]:
    """The queries that have at least one relevant document, in order.

    Raises:
        InputError: None has.
    """
    kept = [q for q in queries if any(grade > 0 for grade in qrels.get(q.id, {}).values())]
    if not kept:
        raise InputError(
            f"none of the {len(queries)} queries has a relevant document in the judgements; "
            "check that query ids agree"
        )
    return kept


def check_documents(queries: Sequence[Query], qrels: Qrels, retriever: Retriever) -> None:
    """Refuse judgements of missing documents, which would make every action look worse.

    Raises:
        InputError: A relevant document isn't in the collection.
    """
    if not isinstance(retriever, DocumentSource):
        return
    wanted = {id_ for q in queries for id_, grade in qrels[q.id].items() if grade > 0}
    ids = sorted(wanted)
    texts, _ = retriever.documents(ids)
    unknown = [id_ for id_, text in zip(ids, texts, strict=True) if text is None]
    if unknown:
        raise InputError(
            f"judgements name {len(unknown)} documents that the collection doesn't hold, such as "
            f"{unknown[0]!r}; add them or leave these judgements out"
        )


def gather_evidence(
    queries: Sequence[Query],
    retriever: Retriever,
    statistics: TermStatistics,
    actions: ActionSpace,
    features: FeatureSet,
) -> list[Evidence]:
    """Evidence for all that the features and actions need, in batched searches."""
    evidence = gather(queries, retriever, statistics, features.needs)
    extend(evidence, retriever, actions.needs)
    return evidence


def reward_table(
    evidence: Sequence[Evidence],
    qrels: Qrels,
    retriever: Retriever,
    actions: ActionSpace,
    features: FeatureSet,
    config: RewardConfig,
    *,
    on_progress: Progress | None = None,
) -> RewardTable:
    """Carry out every possible action on every query and judge what it retrieves.

    Args:
        evidence: One a query, as gathered by :func:`gather_evidence`.
        qrels: Judgements by query id.
        retriever: Where to search.
        actions: The columns.
        features: What the states are made of; fitted.
        config: Metric and prices.
        on_progress: Called with the number of queries done so far.
    """
    queries = [item.query for item in evidence]
    mask = actions.mask(queries, retriever.offers)
    values = np.empty((len(evidence), len(actions)))
    prices = np.empty_like(values)
    for start in range(0, len(evidence), CHUNK):
        rows = slice(start, start + CHUNK)
        values[rows], prices[rows] = _judge_chunk(
            evidence[rows], mask[rows], qrels, retriever, actions, config
        )
        if on_progress is not None:
            on_progress(min(start + CHUNK, len(evidence)))
    carried_out = ~np.isnan(values)
    values = np.where(carried_out, values, values[:, :1])
    return RewardTable(
        query_ids=tuple(query.id for query in queries),
        action_names=actions.names,
        states=features.states(evidence),
        mask=mask,
        values=values,
        rewards=np.where(carried_out, gains_over_keep(values, prices), 0.0),
    )


def _judge_chunk(
    evidence: Sequence[Evidence],
    mask: Mask,
    qrels: Qrels,
    retriever: Retriever,
    actions: ActionSpace,
    config: RewardConfig,
) -> tuple[Table, Table]:
    """Metric values and prices ``(c, m)`` of one chunk, whose rewrites are searched together.

    Values are NaN where the action is masked or has nothing to work with.
    """
    cells: list[tuple[int, int]] = []
    rewrites: list[Rewrite] = []
    for row, item in enumerate(evidence):
        for column, action in enumerate(actions):
            rewrite = action.rewrite(item) if mask[row, column] else None
            if rewrite is not None:
                cells.append((row, column))
                rewrites.append(rewrite)
    rankings = retriever.search(
        rewrites,
        k=config.metric.depth,
        filters=[evidence[row].query.filters for row, _ in cells],
    )
    values = np.full((len(evidence), len(actions)), np.nan)
    prices = np.zeros_like(values)
    grades: list[Mapping[str, float]] = [qrels[item.query.id] for item in evidence]
    for (row, column), rewrite, ranking in zip(cells, rewrites, rankings, strict=True):
        values[row, column] = config.metric(ranking.ids, grades[row])
        prices[row, column] = config.price(rewrite, evidence[row].query)
    return values, prices
