"""No document outside a filter is ever ranked, looked at or fused: a rule without exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import FEEDBACK_DOCUMENTS, Filters, Needs, Query, Ranking, Rewrite
from tests.filters import METADATA, WHERE, Metadata, lets_through, where_document
from tests.support import TokenEmbedder, chroma_collection

WORDS = ("refund", "parcel", "card", "order")
TEXTS = {f"d{n}": f"{WORDS[n % 4]} {WORDS[(n // 2) % 4]} number{n}" for n in range(24)}
EVERYTHING = ~Needs.NOTHING

FILTERS = st.none() | st.builds(Filters, st.none() | WHERE, st.none() | where_document(WORDS))


@lru_cache
def shared() -> tuple[Any, HybridRetriever]:
    collection = chroma_collection(TEXTS, metadatas=[{"tenant": "a"}] * len(TEXTS))
    folder = Path(mkdtemp(prefix="isolation-"))
    return collection, chroma_retriever(collection, TokenEmbedder(), cache_dir=folder)


def permitted(filters: Filters | None, metadata: Mapping[str, Metadata]) -> set[str]:
    return {id_ for id_, text in TEXTS.items() if lets_through(filters, text, metadata[id_])}


def ranked(ranking: Ranking | None) -> set[str]:
    return set(ranking.ids) if ranking is not None else set()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(METADATA, min_size=len(TEXTS), max_size=len(TEXTS)),
    st.lists(FILTERS, min_size=1, max_size=4),
    st.floats(0, 1),
    st.sampled_from(WORDS),
)
def test_every_ranking_stays_within_its_filter(
    metadata: list[Metadata], filters: list[Filters | None], weight: float, word: str
) -> None:
    collection, retriever = shared()
    collection.update(ids=list(TEXTS), metadatas=metadata)
    by_id = dict(zip(TEXTS, metadata, strict=True))
    queries = [Query(f"where is my {word}", filters=restriction) for restriction in filters]
    rewrites = [Rewrite((query.text, "card order"), (0.5, 0.5), None, weight) for query in queries]
    searched = retriever.search(rewrites, k=30, filters=filters, with_documents=True)
    evidence = gather(queries, retriever, CollectionStatistics(), EVERYTHING, depth=30)
    for query, found, item in zip(queries, searched, evidence, strict=True):
        allowed = permitted(query.filters, by_id)
        assert ranked(found) == allowed
        assert ranked(item.first) == allowed
        assert ranked(item.lexical) == {id_ for id_ in allowed if word in TEXTS[id_]}
        for seen in (item.first, item.lexical):
            assert seen is not None
            assert seen.vectors is None or len(seen.vectors) == min(FEEDBACK_DOCUMENTS, len(seen))


def test_the_rule_is_checked_against_something() -> None:
    metadata = {
        id_: {"tenant": "ab"[n % 2], "year": 2020, "open": True} for n, id_ in enumerate(TEXTS)
    }
    both = Filters({"$and": [{"tenant": "a"}, {"year": {"$lt": 2021}}]}, {"$contains": "refund"})
    assert 0 < len(permitted(both, metadata)) < len(permitted(Filters({"tenant": "a"}), metadata))
    assert permitted(Filters({"tenant": "c"}), metadata) == set()


@pytest.mark.parametrize("k", [1, 3])
def test_a_narrow_filter_still_fills_the_ranking(k: int) -> None:
    """Documents outside may not use up the places of the ranking before it is filtered."""
    collection, retriever = shared()
    tenants = [{"tenant": "b" if n < 3 else "a"} for n in range(len(TEXTS))]
    collection.update(ids=list(TEXTS), metadatas=tenants)
    for weight in (0.0, 0.5):
        rewrite = Rewrite(("order number20",), lexical_weight=weight)
        [ranking] = retriever.search([rewrite], k=k, filters=[Filters({"tenant": "b"})])
        assert len(ranking) == k
        assert set(ranking.ids) <= {"d0", "d1", "d2"}
