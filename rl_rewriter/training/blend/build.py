"""From queries and a retriever to pools: a few batched searches for some queries at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.actions.views import Seen, View
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.protocols import Retriever, VectorSource
from rl_rewriter.rewards.judged import Gains
from rl_rewriter.training.blend.candidates import Candidates, Looked, find_candidates
from rl_rewriter.training.blend.config import PoolConfig
from rl_rewriter.training.blend.document_vectors import DocumentVectors
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.types import Evidence, Needs, Qrels


def build_pools(
    evidence: Sequence[Evidence],
    seen: Sequence[Seen],
    views: Sequence[View],
    retriever: Retriever,
    qrels: Qrels,
    config: PoolConfig | None = None,
) -> Pools:
    """Search all views of judged queries and score what they find by every view.

    Judgements play no part in which documents are candidates: a relevant document that no view
    finds is missing here as it would be in a search.

    Args:
        evidence: The queries, ``n`` of them, with ids.
        seen: What their views are, as :func:`rl_rewriter.actions.views.look` tells.
        views: The views, the query itself first.
        retriever: Where to search; each query's own filters apply.
        qrels: Judgements by query id.
        config: Settings.

    Raises:
        InputError: There are no queries, or not as many with views.
        CollectionError: The collection cannot be searched.
    """
    if not evidence or len(evidence) != len(seen):
        raise InputError(f"pools need queries with views, got {len(evidence)} and {len(seen)}")
    config = config or PoolConfig()
    vectors = None
    if Needs.VECTOR in retriever.offers and isinstance(retriever, VectorSource):
        vectors = DocumentVectors(retriever, config.cache_bytes)
    looked = [Looked(*pair) for pair in zip(evidence, seen, strict=True)]
    found: list[Candidates] = []
    for start in range(0, len(looked), config.chunk):
        part = looked[start : start + config.chunk]
        found += find_candidates(part, views, retriever, vectors, config)
    return _assembled(evidence, seen, views, found, qrels)


def _assembled(
    evidence: Sequence[Evidence],
    seen: Sequence[Seen],
    views: Sequence[View],
    found: Sequence[Candidates],
    qrels: Qrels,
) -> Pools:
    n, width = len(found), max(1, *(len(candidates.ids) for candidates in found))
    scores = np.zeros((n, width, len(views)), dtype=np.float32)
    floors = np.zeros((n, len(views)), dtype=np.float32)
    mask = np.zeros((n, width), dtype=np.bool_)
    gains = np.zeros((n, width), dtype=np.float32)
    position: dict[str, int] = {}
    numbers = np.full((n, width), -1, dtype=np.int32)
    grades = [qrels.get(item.query.id, {}) for item in evidence]
    for row, candidates in enumerate(found):
        size = len(candidates.ids)
        scores[row, :size] = candidates.scores
        floors[row] = candidates.floors
        mask[row, :size] = True
        numbers[row, :size] = [position.setdefault(id_, len(position)) for id_ in candidates.ids]
        gains[row, :size] = [max(0.0, grades[row].get(id_, 0.0)) for id_ in candidates.ids]
    relevant = [sorted((g for g in of.values() if g > 0), reverse=True) for of in grades]
    return Pools(
        views=tuple(view.name for view in views),
        is_lexical=np.asarray([view.kind == "lexical" for view in views]),
        scores=scores,
        mask=mask,
        gains=gains,
        ideal=_padded(relevant),
        n_relevant=np.asarray([len(of) for of in relevant], dtype=np.float64),
        present=np.stack([item.present for item in seen]),
        floors=floors,
        documents=tuple(position),
        candidates=numbers,
    )


def _padded(relevant: Sequence[Sequence[float]]) -> Gains:
    ideal = np.zeros((len(relevant), max(1, *(len(of) for of in relevant))))
    for row, of in enumerate(relevant):
        ideal[row, : len(of)] = of
    return ideal
