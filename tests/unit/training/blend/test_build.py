"""Pools over real retrievers: what the views find, scored as the retriever scores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.actions.views import Seen, View, look, views_for
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.training.blend.build import build_pools
from rl_rewriter.training.blend.candidates import Looked, find_candidates
from rl_rewriter.training.blend.config import PoolConfig
from rl_rewriter.training.blend.document_vectors import DocumentVectors
from rl_rewriter.training.blend.objective import keep_weights
from rl_rewriter.types import Evidence, Filters, Needs, Query, Rewrite, Turn, Vector
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection
from tests.unit.training.blend.parts import judge_of

QUERIES = (
    Query("how do I get my money back on the card?", id="money"),
    Query(
        "and abroad?",
        history=(Turn("user", "how long is delivery?"), Turn("assistant", "Two days.")),
        id="abroad",
    ),
    Query("warranty of a repair", id="repair"),
)
QRELS = {
    "money": {"refund": 2.0, "card": 1.0, "size": 0.0},
    "abroad": {"delivery": 1.0, "not there": 3.0},
    "repair": {"repair": 1.0},
}
EVERYTHING = ~Needs.NOTHING


class Uneven(TokenEmbedder):
    """Vectors of several lengths."""

    def vector(self, text: str) -> Vector:
        own: Vector = super().vector(text) * np.float32(1 + len(text) % 5)
        return own


class Metered:
    """Counts what a retriever is asked for."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.calls: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.retriever, name)

    @property
    def name(self) -> str:
        return self.retriever.name

    @property
    def offers(self) -> Needs:
        return self.retriever.offers

    def search(self, rewrites: Sequence[Rewrite], **settings: object) -> object:
        self.calls.append(("search", len(rewrites)))
        return self.retriever.search(rewrites, **settings)  # type: ignore[arg-type]

    def document_vectors(self, ids: Sequence[str]) -> object:
        self.calls.append(("vectors", len(ids)))
        return self.retriever.document_vectors(ids)  # type: ignore[attr-defined]


def over_chroma(
    folder: Path, space: str = "cosine", embedder: TokenEmbedder | None = None
) -> Retriever:
    model = embedder or TokenEmbedder()
    collection = chroma_collection(
        embedder=model, space=space, metadatas=[{"long": len(id_) > 6} for id_ in DOCUMENTS]
    )
    return chroma_retriever(collection, model, cache_dir=folder)


def looked_at(
    retriever: Retriever, queries: Sequence[Query] = QUERIES
) -> tuple[list[Evidence], list[Seen], tuple[View, ...]]:
    views = views_for(retriever.offers)
    evidence = gather(queries, retriever, retriever.statistics(), EVERYTHING)
    return evidence, [look(item, views) for item in evidence], views


def test_scores_are_similarities_and_bm25_scores(tmp_path: Path) -> None:
    retriever = over_chroma(tmp_path)
    evidence, seen, views = looked_at(retriever)
    vectors = DocumentVectors(retriever, 10**6)  # type: ignore[arg-type]  # it is a VectorSource
    looked = [Looked(*pair) for pair in zip(evidence, seen, strict=True)]
    found = find_candidates(looked, views, retriever, vectors, PoolConfig())
    for item, of_views, candidates in zip(evidence, seen, found, strict=True):
        assert candidates.ids == tuple(sorted(DOCUMENTS, reverse=True))
        for column, view in enumerate(views):
            scores = candidates.scores[:, column]
            if not of_views.present[column]:
                assert not scores.any()
            elif view.kind == "dense":
                assert of_views.vectors is not None
                own = TokenEmbedder()
                expected = [
                    own.vector(DOCUMENTS[id_]) @ of_views.vectors[column] for id_ in candidates.ids
                ]
                assert scores == pytest.approx(np.asarray(expected), abs=1e-5)
            else:
                ranking = retriever.lexical([of_views.texts[column]], k=99)[0]  # type: ignore[attr-defined]
                known = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
                expected = [known.get(id_, 0.0) for id_ in candidates.ids]
                assert scores == pytest.approx(np.asarray(expected), abs=1e-5)
        assert item.query.id in QRELS


def test_grades_and_ideals_come_from_the_judgements(tmp_path: Path) -> None:
    retriever = over_chroma(tmp_path)
    pools = build_pools(*looked_at(retriever), retriever, QRELS)
    order = sorted(DOCUMENTS, reverse=True)
    assert pools.gains[0, order.index("refund")] == 2.0
    assert pools.gains[0].sum() == 3.0
    assert pools.ideal.tolist() == [[2.0, 1.0], [3.0, 1.0], [1.0, 0.0]]
    assert pools.n_relevant.tolist() == [2.0, 2.0, 1.0]
    assert pools.present[:, pools.views.index("history_in_front")].tolist() == [False, True, False]


def test_judgements_have_no_part_in_who_is_a_candidate(tmp_path: Path) -> None:
    retriever = over_chroma(tmp_path)
    few = PoolConfig(candidates=2, query_candidates=2, size=4)
    evidence, seen, views = looked_at(retriever)
    plain, judged = (
        build_pools(evidence, seen, views, retriever, qrels, few)
        for qrels in ({}, {query.id: dict.fromkeys(DOCUMENTS, 1.0) for query in QUERIES})
    )
    assert plain.scores.shape[1] == 4
    assert np.array_equal(plain.scores, judged.scores)
    assert not plain.gains.any()


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_keep_is_worth_what_its_search_is_worth_in_any_space(tmp_path: Path, space: str) -> None:
    retriever = over_chroma(tmp_path, space, Uneven())
    queries = [Query(text, id=text) for text in DOCUMENTS.values()]
    rng = np.random.default_rng(0)
    qrels = {
        query.id: {id_: 1.0 for id_ in DOCUMENTS if rng.random() < 0.3} or {"card": 1.0}
        for query in queries
    }
    evidence, seen, views = looked_at(retriever, queries)
    judge = judge_of(build_pools(evidence, seen, views, retriever, qrels))
    rankings = retriever.search([Rewrite.keep(query) for query in queries], k=10)
    expected = [
        judge.metric(ranking.ids, qrels[query.id])
        for query, ranking in zip(queries, rankings, strict=True)
    ]
    assert judge.keep(np.arange(len(queries))) == pytest.approx(expected)


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_a_blend_is_worth_what_its_one_search_is_worth(tmp_path: Path, space: str) -> None:
    retriever = over_chroma(tmp_path, space, Uneven())
    evidence, seen, views = looked_at(retriever)
    pools = build_pools(evidence, seen, views, retriever, QRELS)
    judge = judge_of(pools)
    weights = np.where(pools.is_lexical, 0.0, pools.present) * np.linspace(1, 2, len(views))
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    for row, (query, of_views) in enumerate(zip(QUERIES, seen, strict=True)):
        assert of_views.vectors is not None
        shares = weights[row] / pools.scales()
        vector = (shares / shares.sum()) @ of_views.vectors
        (found,) = retriever.search([Rewrite((query.text,), vector=vector)], k=10)
        expected = judge.metric(found.ids, QRELS[query.id])
        assert judge.values(np.asarray([row]), weights[[row]])[0] == pytest.approx(expected)


def test_filters_hold_for_every_view(tmp_path: Path) -> None:
    retriever = over_chroma(tmp_path)
    query = replace(QUERIES[0], filters=Filters(where={"long": True}))
    evidence, seen, views = looked_at(retriever, [query])
    pools = build_pools(evidence, seen, views, retriever, QRELS)
    assert pools.mask.sum() == sum(len(id_) > 6 for id_ in DOCUMENTS)


def test_searches_come_in_few_batches_and_each_vector_once(tmp_path: Path) -> None:
    retriever = Metered(over_chroma(tmp_path))
    evidence, seen, views = looked_at(retriever)  # type: ignore[arg-type]
    retriever.calls.clear()
    build_pools(evidence, seen, views, retriever, QRELS, PoolConfig(chunk=2))  # type: ignore[arg-type]
    assert [name for name, _ in retriever.calls].count("search") == 2
    assert sum(n for name, n in retriever.calls if name == "vectors") == len(DOCUMENTS)


def test_vectors_beyond_the_limit_are_fetched_again(tmp_path: Path) -> None:
    retriever = over_chroma(tmp_path)
    evidence, seen, views = looked_at(retriever)
    held, forgotten = (
        build_pools(evidence, seen, views, retriever, QRELS, PoolConfig(chunk=1, cache_bytes=limit))
        for limit in (10**6, 1)
    )
    assert np.array_equal(held.scores, forgotten.scores)


def test_a_retriever_of_texts_alone_is_asked_for_each_text() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    evidence, seen, views = looked_at(retriever)
    pools = build_pools(evidence, seen, views, retriever, QRELS)
    assert not pools.is_lexical.any()
    assert len(pools.views) > 1
    judge = judge_of(pools)
    assert judge.keep(np.arange(3)) == pytest.approx(
        [
            judge.metric(retriever.search([Rewrite.keep(query)], k=10)[0].ids, QRELS[query.id])
            for query in QUERIES
        ]
    )
    weights = keep_weights(3, len(views))
    weights[:, :2] = 0.5 * pools.present[:, :2] + np.where(pools.present[:, 1:2], 0, [[0.5, 0.0]])
    for row, (query, of_views) in enumerate(zip(QUERIES, seen, strict=True)):
        shares = weights[row] / pools.scales()
        chosen = np.flatnonzero(shares)
        mix = Rewrite(
            tuple(of_views.texts[view] for view in chosen),
            tuple((shares[chosen] / shares.sum()).tolist()),
        )
        (found,) = retriever.search([mix], k=10)
        assert judge.values(np.asarray([row]), weights[[row]])[0] == pytest.approx(
            judge.metric(found.ids, QRELS[query.id])
        )


def test_a_query_that_finds_nothing_has_no_candidates() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    odd = Query("xylophone", id="odd")
    pools = build_pools(*looked_at(retriever, [odd, *QUERIES]), retriever, QRELS)
    assert pools.mask.any(axis=1).tolist() == [False, True, True, True]
    assert judge_of(pools).keep(np.asarray([0])) == 0.0


def test_no_queries_are_refused() -> None:
    with pytest.raises(InputError, match="pools need queries"):
        build_pools([], [], views_for(EVERYTHING), Bm25Retriever(DOCUMENTS), QRELS)
