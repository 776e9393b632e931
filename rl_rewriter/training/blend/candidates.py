"""The documents that the views of queries find, and what each view thinks of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from rl_rewriter.actions.views import Seen, View
from rl_rewriter.retrieval.fusion import BLEND_DEPTH
from rl_rewriter.retrieval.protocols import LexicalSource, Retriever
from rl_rewriter.training.blend.config import PoolConfig
from rl_rewriter.training.blend.document_vectors import DocumentVectors
from rl_rewriter.types import Evidence, Matrix, Ranking, Rewrite, Vector


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pool of one query.

    Attributes:
        ids: Document ids, descending, ``p`` of them.
        scores: Shape ``(p, v)``.
        floors: Score by each dense view of the last document that its search returns, ``(v,)``.
    """

    ids: tuple[str, ...]
    scores: Matrix
    floors: Vector


@dataclass(frozen=True, eq=False)
class Looked:
    """One query and its views.

    Attributes:
        evidence: The query.
        seen: What its views are.
    """

    evidence: Evidence
    seen: Seen


def find_candidates(
    queries: Sequence[Looked],
    views: Sequence[View],
    retriever: Retriever,
    vectors: DocumentVectors | None,
    config: PoolConfig,
) -> list[Candidates]:
    """Search all views of some queries, one batch for the dense ones and one for the lexical ones.

    Args:
        queries: The queries.
        views: The views, the query itself first.
        retriever: Where to search.
        vectors: Document vectors; None where the retriever searches texts alone.
        config: Settings.
    """
    rankings: list[list[Ranking | None]] = [[None] * len(views) for _ in queries]
    _search_dense(queries, views, retriever, rankings, config)
    _search_lexical(queries, views, retriever, rankings, config)
    if vectors is not None:
        wanted = {id_ for row in rankings for id_ in _united(row, config)}
        vectors.fetch(wanted | {ranking.ids[-1] for ranking in _dense(rankings, views)})
    return [
        _scored(looked, views, found, vectors, config)
        for looked, found in zip(queries, rankings, strict=True)
    ]


def _search_dense(
    queries: Sequence[Looked],
    views: Sequence[View],
    retriever: Retriever,
    rankings: list[list[Ranking | None]],
    config: PoolConfig,
) -> None:
    places, rewrites = [], []
    depth = max(config.candidates, config.query_candidates, BLEND_DEPTH)
    for row, looked in enumerate(queries):
        seen, text = looked.seen, looked.evidence.query.text
        for column in _present(seen, views, "dense"):
            places.append((row, column))
            if seen.vectors is None:
                rewrites.append(Rewrite(texts=(seen.texts[column],), without_words=True))
                depth = max(depth, config.text_depth)
            else:
                vector = seen.vectors[column]
                rewrites.append(Rewrite(texts=(text,), vector=vector, without_words=True))
    filters = [queries[row].evidence.query.filters for row, _ in places]
    found = retriever.search(rewrites, k=depth, filters=filters)
    for (row, column), ranking in zip(places, found, strict=True):
        rankings[row][column] = ranking


def _search_lexical(
    queries: Sequence[Looked],
    views: Sequence[View],
    retriever: Retriever,
    rankings: list[list[Ranking | None]],
    config: PoolConfig,
) -> None:
    places = [
        (row, column)
        for row, looked in enumerate(queries)
        for column in _present(looked.seen, views, "lexical")
    ]
    if not places:
        return
    found = cast(LexicalSource, retriever).lexical(
        [queries[row].seen.texts[column] for row, column in places],
        k=config.lexical_depth,
        filters=[queries[row].evidence.query.filters for row, _ in places],
    )
    for (row, column), ranking in zip(places, found, strict=True):
        rankings[row][column] = ranking


def _present(seen: Seen, views: Sequence[View], kind: str) -> list[int]:
    return [
        column for column, view in enumerate(views) if view.kind == kind and seen.present[column]
    ]


def _united(rankings: Sequence[Ranking | None], config: PoolConfig) -> list[str]:
    """Ids of all candidates, descending."""
    united: set[str] = set()
    for column, ranking in enumerate(rankings):
        if ranking is not None:
            united.update(ranking.ids[: config.candidates if column else config.query_candidates])
    return sorted(united, reverse=True)


def _scored(
    looked: Looked,
    views: Sequence[View],
    rankings: Sequence[Ranking | None],
    vectors: DocumentVectors | None,
    config: PoolConfig,
) -> Candidates:
    ids = _united(rankings, config)
    scores = np.zeros((len(ids), len(views)), dtype=np.float32)
    if vectors is not None and looked.seen.vectors is not None and ids:
        scores += vectors.similarities(ids, looked.seen.vectors, rankings[0])
    for column, ranking in enumerate(rankings):
        if ranking is None:
            scores[:, column] = 0.0
        elif vectors is None or views[column].kind == "lexical":
            depth = config.lexical_depth if views[column].kind == "lexical" else config.text_depth
            scores[:, column] = _looked_up(ids, ranking, depth)
    floors = np.asarray(
        [
            _floor(looked, number, ranking, vectors) if views[number].kind == "dense" else 0.0
            for number, ranking in enumerate(rankings)
        ],
        dtype=np.float32,
    )
    return _pruned(ids, scores, floors, rankings, config)


def _dense(rankings: Sequence[Sequence[Ranking | None]], views: Sequence[View]) -> list[Ranking]:
    """What searches of dense views found, where they found something."""
    return [
        ranking
        for row in rankings
        for view, ranking in zip(views, row, strict=True)
        if view.kind == "dense" and ranking is not None and len(ranking)
    ]


def _floor(
    looked: Looked, number: int, ranking: Ranking | None, vectors: DocumentVectors | None
) -> float:
    """Score of the last document of a dense view's ranking, on the scale of the pool's scores."""
    if ranking is None or not len(ranking):
        return 0.0
    if vectors is None or looked.seen.vectors is None:
        return float(ranking.scores[-1])
    view = looked.seen.vectors[number : number + 1]
    return float(vectors.similarities(ranking.ids[-1:], view, None)[0, 0])


def _looked_up(ids: Sequence[str], ranking: Ranking, depth: int) -> Vector:
    """Scores of documents by a ranking.

    Documents outside a ranking that is as deep as was asked for count as its last one, which is the
    most they can be; a shorter ranking holds all documents that score at all, and others count 0.
    """
    known = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
    lowest = float(ranking.scores[-1]) if len(ranking) >= depth else 0.0
    return np.asarray([known.get(id_, lowest) for id_ in ids], dtype=np.float32)


def _pruned(
    ids: list[str],
    scores: Matrix,
    floors: Vector,
    rankings: Sequence[Ranking | None],
    config: PoolConfig,
) -> Candidates:
    """The best candidates by their best min-max normalised view, and all first ones of the query.

    The latter, so that what keep is worth can be told from the pool.
    """
    if len(ids) <= config.size:
        return Candidates(tuple(ids), scores, floors)
    lowest, highest = scores.min(axis=0), scores.max(axis=0)
    best = ((scores - lowest) / np.maximum(highest - lowest, 1e-9)).max(axis=1)
    own = set(rankings[0].ids[: config.size // 5]) if rankings[0] is not None else set()
    best[[row for row, id_ in enumerate(ids) if id_ in own]] = 2.0
    kept = np.sort(np.argsort(-best, kind="stable")[: config.size])
    return Candidates(tuple(ids[row] for row in kept), scores[kept], floors)
