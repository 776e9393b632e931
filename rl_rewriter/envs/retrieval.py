"""The retriever as environment: what each action retrieves for each query, judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.envs.outcomes import Outcomes, kept_elsewhere, numbered_by_id, ranked_array
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.retrieval.evidence import extend, gather
from rl_rewriter.retrieval.protocols import DocumentSource, Retriever
from rl_rewriter.rewards.reward import EFFORT, effort_of
from rl_rewriter.types import Evidence, Qrels, Query, Rewrite, TermStatistics

CHUNK = 256
"""Queries whose rewrites are searched in one call."""
Progress = Callable[[int], None]
OutcomeSource = Callable[[Sequence[Query], ActionSpace, FeatureSet, int], Outcomes]
"""Gives outcomes of queries, actions and features to a depth: by searching, or from a store."""


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


def carry_out(
    queries: Sequence[Query],
    retriever: Retriever,
    statistics: TermStatistics,
    actions: ActionSpace,
    features: FeatureSet,
    *,
    depth: int,
    on_progress: Progress | None = None,
) -> Outcomes:
    """Carry out every possible action on every query.

    Args:
        queries: The queries.
        retriever: Where to search.
        statistics: Term weights of the collection.
        actions: The columns.
        features: What the policy would see; need not be fitted.
        depth: Documents of each ranking.
        on_progress: Called with the number of queries done so far.
    """
    position: dict[str, int] = {}
    mask = actions.mask(queries, retriever.offers)
    applied = np.zeros_like(mask)
    ranked = np.full((*mask.shape, depth), -1, dtype=np.int32)
    effort = np.zeros((*mask.shape, len(EFFORT)), dtype=np.int16)
    raw = np.zeros((len(queries), len(features.columns)), dtype=np.float32)
    for start in range(0, len(queries), CHUNK):
        chunk = slice(start, start + CHUNK)
        evidence = gather_evidence(queries[chunk], retriever, statistics, actions, features)
        raw[chunk] = features.raw(evidence)
        for item, row in zip(evidence, raw[chunk], strict=True):
            item.features = row
        rows, columns, rewrites = _rewrites(evidence, actions, mask[chunk])
        rankings = retriever.search(
            rewrites, k=depth, filters=[evidence[row].query.filters for row in rows]
        )
        cells = ([start + row for row in rows], columns)
        applied[cells] = True
        ranked[cells] = ranked_array([ranking.ids for ranking in rankings], depth, position)
        effort[cells] = [
            effort_of(rewrite, evidence[row].query)
            for row, rewrite in zip(rows, rewrites, strict=True)
        ]
        if on_progress is not None:
            on_progress(min(start + CHUNK, len(queries)))
    documents, ranked = numbered_by_id(position, kept_elsewhere(applied, ranked))
    return Outcomes(
        queries=tuple(queries),
        action_names=actions.names,
        columns=features.columns,
        features=raw,
        mask=mask,
        applied=applied,
        documents=documents,
        ranked=ranked,
        effort=effort,
    )


def _rewrites(
    evidence: Sequence[Evidence], actions: ActionSpace, mask: Mask
) -> tuple[list[int], list[int], list[Rewrite]]:
    """Row, column and rewrite of every action that is possible and finds something to do."""
    rows: list[int] = []
    columns: list[int] = []
    rewrites: list[Rewrite] = []
    for row, column in np.argwhere(mask).tolist():
        rewrite = actions[column].rewrite(evidence[row])
        if rewrite is not None:
            rows.append(row)
            columns.append(column)
            rewrites.append(rewrite)
    return rows, columns, rewrites
