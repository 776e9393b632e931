"""Scores that are kept save work and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.kept_scores import N_KEPT, KeptScores
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.term_counts import Mask, TermCounts
from rl_rewriter.types import Filters, Rewrite, Vector
from tests.support import TokenEmbedder, chroma_collection
from tests.unit.retrieval.test_term_counts import counts

WORDS = ("refund", "card", "week", "delivery", "退款", "the", "weather")
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
CORPUS = st.lists(TEXT, min_size=1, max_size=10)
ALL = np.ones(4, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Counted(TermCounts):
    """Notes the terms that it scores."""

    scored: list[set[str]] = field(default_factory=list)

    def scores(self, weights: Mapping[str, float], allowed: Mask | None = None) -> Vector:
        self.scored.append(set(weights))
        return super().scores(weights, allowed)


def counted() -> Counted:
    plain = counts()
    return Counted(**{column.name: getattr(plain, column.name) for column in fields(plain)})


@st.composite
def mixes(draw: st.DrawFn) -> Rewrite:
    texts = draw(st.lists(TEXT, min_size=1, max_size=4))
    raw = draw(st.lists(st.integers(0, 9), min_size=len(texts), max_size=len(texts)))
    whole = sum(raw) or 1
    shares = [share / whole for share in raw] if any(raw) else [1.0, *([0.0] * (len(raw) - 1))]
    return Rewrite(tuple(texts), tuple(shares))


def sum_of_texts(index: Bm25Index, mix: Rewrite, allowed: Mask | None) -> Vector:
    """Every text scored by itself, one term at a time, by an index that was never asked before."""
    total = np.zeros(len(index), dtype=np.float64)
    for text, weight in zip(mix.texts, mix.weights, strict=True):
        for word in text.split():
            total += weight * index.scores(Rewrite((word,)), allowed)
    return total.astype(np.float32)


@given(CORPUS, st.lists(st.tuples(mixes(), TEXT, st.integers(0, 2)), min_size=1, max_size=6))
def test_a_mix_scores_as_its_texts_do_whatever_was_asked_before(
    documents: list[str], asked: list[tuple[Rewrite, str, int]]
) -> None:
    ids = [f"d{row}" for row in range(len(documents))]
    index = Bm25Index(ids, documents)
    rows = np.arange(len(documents))
    filters: tuple[Mask | None, ...] = (None, rows % 2 == 0, rows % 3 > 0)
    for mix, query, number in asked:
        allowed = filters[number]
        index.scores(Rewrite((query,)), allowed)
        scores = index.scores(mix, allowed, query=query)
        fresh = Bm25Index(ids, documents)
        np.testing.assert_allclose(scores, sum_of_texts(fresh, mix, allowed), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(
            scores, Bm25Index(ids, documents).scores(mix, allowed, query=query)
        )


def test_of_a_text_that_was_scored_only_what_a_mix_adds_is_scored() -> None:
    collection = counted()
    kept = KeptScores(collection)
    first = kept.of_mix({"card": 1.0, "week": 1.0}, {"card": 1, "week": 1}, None)
    assert collection.scored == [{"card", "week"}]
    again = kept.of_mix({"card": 1.0, "week": 1.0}, {"card": 1, "week": 1}, None)
    assert len(collection.scored) == 1
    np.testing.assert_array_equal(first, again)
    mixed = kept.of_mix({"card": 1.0, "week": 1.0, "refund": 0.5}, {"card": 1, "week": 1}, None)
    assert collection.scored[1:] == [{"refund"}]
    np.testing.assert_allclose(mixed, first + 0.5 * counts().scores({"refund": 1.0}), rtol=1e-6)


def test_a_mix_that_holds_a_term_more_often_scores_the_rest_of_it() -> None:
    collection = counted()
    kept = KeptScores(collection)
    mixed = kept.of_mix({"card": 1.5, "week": 0.5}, {"card": 1, "week": 1}, None)
    assert collection.scored == [{"card", "week"}, {"card"}]
    np.testing.assert_allclose(mixed, counts().scores({"card": 1.5, "week": 0.5}), rtol=1e-6)


def test_a_mix_without_a_term_of_the_text_is_scored_by_itself() -> None:
    collection = counted()
    mixed = KeptScores(collection).of_mix({"card": 1.0}, {"card": 1, "week": 1}, None)
    assert collection.scored == [{"card"}]
    np.testing.assert_array_equal(mixed, counts().scores({"card": 1.0}))


def test_scores_among_other_documents_are_not_taken() -> None:
    collection = counted()
    kept = KeptScores(collection)
    card = {"card": 1.0}
    some = np.asarray([True, False, True, True])
    for allowed in (None, ALL, some, ~some):
        np.testing.assert_array_equal(
            kept.of_mix(card, card, allowed), counts().scores(card, allowed)
        )
    assert len(collection.scored) == 4
    kept.of_mix(card, card, some.copy())  # the same documents, told anew
    assert len(collection.scored) == 4
    changing = some.copy()
    kept.of_mix({"week": 1.0}, {"week": 1}, changing)
    changing[:] = False
    assert not kept.of_mix({"week": 1.0}, {"week": 1}, changing).any()


def test_callers_may_change_what_they_get() -> None:
    kept = KeptScores(counts())
    kept.of_mix({"card": 1.0}, {"card": 1}, None)[:] = 9.0
    np.testing.assert_array_equal(
        kept.of_mix({"card": 1.0}, {"card": 1}, None), counts().scores({"card": 1.0})
    )


def test_only_the_last_few_are_kept() -> None:
    collection = counted()
    kept = KeptScores(collection)
    for number in range(N_KEPT):
        kept.of_mix({f"w{number}": 1.0}, {f"w{number}": 1}, None)
    for number in reversed(range(N_KEPT)):
        kept.of_mix({f"w{number}": 1.0}, {f"w{number}": 1}, None)
    assert len(collection.scored) == N_KEPT
    kept.of_mix({"one more": 1.0}, {"one more": 1}, None)
    kept.of_mix({"w0": 1.0}, {"w0": 1}, None)
    assert len(collection.scored) == N_KEPT + 2


def test_threads_with_filters_of_their_own_get_their_own_scores() -> None:
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(WORDS, size=5)) for _ in range(200)]
    ids = [f"d{row}" for row in range(len(documents))]
    index = Bm25Index(ids, documents)
    tenants = np.arange(len(documents)) % 4
    queries = ("refund card", "week", "delivery week card")
    cases = [(query, tenant) for query in queries for tenant in range(4)] * 20

    def asked(case: tuple[str, int]) -> Vector:
        query, tenant = case
        index.scores(Rewrite((query,)), tenants == tenant)
        mix = Rewrite((query, f"{query} refund"), (0.5, 0.5))
        return index.scores(mix, tenants == tenant, query=query)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(asked, cases))
    for (query, tenant), scores in zip(cases[:12], found[:12], strict=True):
        assert scores.any()
        assert not scores[tenants != tenant].any()
        fresh = Bm25Index(ids, documents)
        mix = Rewrite((query, f"{query} refund"), (0.5, 0.5))
        np.testing.assert_array_equal(scores, fresh.scores(mix, tenants == tenant, query=query))
    for case, scores in zip(cases, found, strict=True):
        np.testing.assert_array_equal(scores, found[cases.index(case)])


@pytest.mark.parametrize("filters", [None, Filters({"tenant": "a"})])
def test_changes_of_a_collection_are_seen_at_once(filters: Filters | None, tmp_path: Path) -> None:
    embedder = TokenEmbedder()
    texts = {"a1": "a refund", "a2": "a parcel", "b1": "a refund at last"}
    tenants = [{"tenant": id_[0]} for id_ in texts]
    collection = chroma_collection(texts, embedder, metadatas=tenants)
    retriever = chroma_retriever(collection, embedder, cache_dir=tmp_path, refresh_seconds=0.0)
    fused = Rewrite(("refund",), lexical_weight=1.0)

    def found() -> list[tuple[str, ...]]:
        [lexical] = retriever.lexical(["refund"], k=5, filters=[filters])
        [ranking] = retriever.search([fused], k=len(lexical), filters=[filters])
        return [tuple(sorted(lexical.ids)), tuple(sorted(ranking.ids))]

    before = ("a1",) if filters else ("a1", "b1")
    assert found() == [before, before]
    collection.update(ids=["a1"], metadatas=[{"tenant": "b"}])
    collection.update(ids=["b1"], metadatas=[{"tenant": "a"}])
    moved = ("b1",) if filters else ("a1", "b1")
    assert found() == [moved, moved]
    collection.add(
        ids=["a3"],
        documents=["a refund"],
        metadatas=[{"tenant": "a"}],
        embeddings=embedder.embed_documents(["a refund"]),
    )
    added = tuple(sorted((*moved, "a3")))
    assert found() == [added, added]
