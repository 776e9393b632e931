"""Gathers what is known about queries before deciding, for all of them in a few batched calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, cast

from rl_rewriter.retrieval.protocols import LexicalSource, Retriever, VectorSource
from rl_rewriter.text.history_parts import texts_of_views
from rl_rewriter.types import (
    FEEDBACK_DOCUMENTS,
    Evidence,
    Matrix,
    Needs,
    Query,
    Ranking,
    Rewrite,
    TermStatistics,
    Vector,
)

EVIDENCE_DEPTH = 10
"""Documents of the first rankings that features and feedback look at."""

_Side = Literal["first", "lexical"]
_SIDES: tuple[tuple[_Side, Needs], ...] = (
    ("first", Needs.FIRST_VECTORS),
    ("lexical", Needs.LEXICAL_VECTORS),
)
_FIRST = Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.FIRST_VECTORS
_LEXICAL = Needs.LEXICAL | Needs.LEXICAL_VECTORS
_GATHERED = Needs.VECTOR | _FIRST | _LEXICAL | Needs.HISTORY_VECTORS
LEXICAL_DEPTH = 100
"""Documents of the BM25 ranking, which scores them all anyway: dense ones are looked up there."""


def gather(
    queries: Sequence[Query],
    retriever: Retriever,
    statistics: TermStatistics,
    needs: Needs,
    *,
    vectors: Sequence[Vector] | None = None,
    depth: int = EVIDENCE_DEPTH,
    with_documents: bool = False,
) -> list[Evidence]:
    """Collect evidence about queries.

    Args:
        queries: The queries.
        retriever: Where to search; each query's own filters apply.
        statistics: Term weights to pass on to actions and features.
        needs: What to collect; what the retriever doesn't offer is left out.
        vectors: Embeddings of the queries, where the caller has them already.
        depth: Documents in the first ranking.
        with_documents: Whether the first ranking carries texts and metadata in any case.

    Returns:
        One evidence a query, in order.
    """
    evidence = [Evidence(query, statistics) for query in queries]
    if vectors is not None:
        for item, vector in zip(evidence, vectors, strict=True):
            item.vector = vector
    extend(evidence, retriever, needs, depth=depth, with_documents=with_documents)
    return evidence


def extend(
    evidence: Sequence[Evidence],
    retriever: Retriever,
    needs: Needs,
    *,
    depth: int = EVIDENCE_DEPTH,
    with_documents: bool = False,
) -> None:
    """Collect what ``needs`` names and isn't there yet, in place (see :func:`gather`)."""
    needs &= retriever.offers & _GATHERED
    missing = [item for item in evidence if needs & ~item.gathered]
    if not missing:
        return
    _embed(missing, retriever, needs)
    if needs & _FIRST:
        _search_first(missing, retriever, needs, depth, with_documents)
    if needs & _LEXICAL:
        _search_lexical(missing, retriever, depth)
    _fetch_vectors(missing, retriever, [side for side, need in _SIDES if need in needs])
    for item in missing:
        item.gathered |= needs


def _embed(evidence: Sequence[Evidence], retriever: Retriever, needs: Needs) -> None:
    """The queries, and parts of their conversations where needed, in one call of the model."""
    if Needs.VECTOR not in retriever.offers:
        return
    wanted = [item.query.text for item in evidence if item.vector is None]
    parts = [
        texts_of_views(item.query) if Needs.HISTORY_VECTORS in needs else () for item in evidence
    ]
    wanted += [
        text
        for item, texts in zip(evidence, parts, strict=True)
        for text in texts
        if text not in item.part_vectors
    ]
    if not wanted:
        return
    texts = list(dict.fromkeys(wanted))
    vectors = cast(VectorSource, retriever).embed_queries(texts)
    by_text = dict(zip(texts, vectors, strict=True))
    for item, of_item in zip(evidence, parts, strict=True):
        if item.vector is None:
            item.vector = by_text[item.query.text]
        item.part_vectors.update({text: by_text[text] for text in of_item if text in by_text})


def _search_first(
    evidence: Sequence[Evidence],
    retriever: Retriever,
    needs: Needs,
    depth: int,
    with_documents: bool,
) -> None:
    wants_texts = Needs.FIRST_TEXTS in needs or with_documents
    todo = [
        item
        for item in evidence
        if item.first is None or (wants_texts and item.first.texts is None)
    ]
    if not todo:
        return
    rewrites = [Rewrite(texts=(item.query.text,), vector=item.vector) for item in todo]
    rankings = retriever.search(
        rewrites,
        k=depth,
        filters=[item.query.filters for item in todo],
        with_documents=wants_texts,
    )
    for item, ranking in zip(todo, rankings, strict=True):
        item.first = _with_vectors_of(item.first, ranking)


def _with_vectors_of(earlier: Ranking | None, ranking: Ranking) -> Ranking:
    """Keep the vectors that were fetched for the same first documents before."""
    fetched = slice(FEEDBACK_DOCUMENTS)
    if earlier is None or earlier.ids[fetched] != ranking.ids[fetched]:
        return ranking
    return dataclasses.replace(ranking, vectors=earlier.vectors)


def _search_lexical(evidence: Sequence[Evidence], retriever: Retriever, depth: int) -> None:
    todo = [item for item in evidence if item.lexical is None]
    if not todo:
        return
    rankings = cast(LexicalSource, retriever).lexical(
        [item.query.text for item in todo],
        k=max(depth, LEXICAL_DEPTH),
        filters=[item.query.filters for item in todo],
    )
    for item, ranking in zip(todo, rankings, strict=True):
        item.lexical = ranking


def _fetch_vectors(
    evidence: Sequence[Evidence], retriever: Retriever, sides: Sequence[_Side]
) -> None:
    """Vectors of the first documents of each ranking, all of them in one call."""
    todo = [
        (item, side, ranking)
        for item in evidence
        for side in sides
        if (ranking := _ranking(item, side)).vectors is None
    ]
    ids = [id_ for _, _, ranking in todo for id_ in ranking.ids[:FEEDBACK_DOCUMENTS]]
    if not ids:
        return
    vectors: Matrix = cast(VectorSource, retriever).document_vectors(ids)
    start = 0
    for item, side, ranking in todo:
        stop = start + min(FEEDBACK_DOCUMENTS, len(ranking))
        setattr(item, side, dataclasses.replace(ranking, vectors=vectors[start:stop]))
        start = stop


def _ranking(item: Evidence, side: _Side) -> Ranking:
    found: Ranking = getattr(item, side)
    return found
