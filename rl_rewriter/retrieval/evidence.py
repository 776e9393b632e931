"""Gathers what is known about queries before deciding, for all of them in a few batched calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, cast

from rl_rewriter.retrieval.protocols import LexicalSource, Retriever, VectorSource
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

_FIRST = Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.FIRST_VECTORS
_LEXICAL = Needs.LEXICAL | Needs.LEXICAL_VECTORS
_GATHERED = Needs.VECTOR | _FIRST | _LEXICAL


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
    _embed(missing, retriever)
    if needs & _FIRST:
        _search_first(missing, retriever, needs, depth, with_documents)
    if needs & _LEXICAL:
        _search_lexical(missing, retriever, depth)
    if Needs.FIRST_VECTORS in needs:
        _fetch_vectors(missing, retriever, "first")
    if Needs.LEXICAL_VECTORS in needs:
        _fetch_vectors(missing, retriever, "lexical")
    for item in missing:
        item.gathered |= needs


def _embed(evidence: Sequence[Evidence], retriever: Retriever) -> None:
    todo = [item for item in evidence if item.vector is None]
    if todo and Needs.VECTOR in retriever.offers:
        texts = list(dict.fromkeys(item.query.text for item in todo))
        vectors = cast(VectorSource, retriever).embed_queries(texts)
        by_text = dict(zip(texts, vectors, strict=True))
        for item in todo:
            item.vector = by_text[item.query.text]


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
        k=depth,
        filters=[item.query.filters for item in todo],
    )
    for item, ranking in zip(todo, rankings, strict=True):
        item.lexical = ranking


def _fetch_vectors(
    evidence: Sequence[Evidence], retriever: Retriever, side: Literal["first", "lexical"]
) -> None:
    rankings: list[Ranking] = [getattr(item, side) for item in evidence]
    todo = [row for row, ranking in enumerate(rankings) if ranking.vectors is None]
    ids = [id_ for row in todo for id_ in rankings[row].ids[:FEEDBACK_DOCUMENTS]]
    if not ids:
        return
    vectors: Matrix = cast(VectorSource, retriever).document_vectors(ids)
    start = 0
    for row in todo:
        stop = start + min(FEEDBACK_DOCUMENTS, len(rankings[row]))
        found = dataclasses.replace(rankings[row], vectors=vectors[start:stop])
        setattr(evidence[row], side, found)
        start = stop
