"""No document outside a filter is ever ranked, looked at or fused: a rule without exceptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from rl_rewriter.types import Filters, Needs, Query, Ranking, Rewrite
from tests.support import TokenEmbedder, chroma_collection

WORDS = ("refund", "parcel", "card", "order")
TEXTS = {f"d{n}": f"{WORDS[n % 4]} {WORDS[(n // 2) % 4]} number{n}" for n in range(24)}
EVERYTHING = ~Needs.NOTHING

Metadata = dict[str, Any]
METADATA = st.lists(
    st.fixed_dictionaries(
        {"tenant": st.sampled_from("ab"), "year": st.integers(2020, 2023), "open": st.booleans()}
    ),
    min_size=len(TEXTS),
    max_size=len(TEXTS),
)
LEAVES = st.one_of(
    st.builds(lambda value: {"tenant": value}, st.sampled_from("abc")),
    st.builds(lambda value: {"open": value}, st.booleans()),
    st.builds(
        lambda operator, year: {"year": {operator: year}},
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
        st.integers(2019, 2024),
    ),
    st.builds(
        lambda values: {"tenant": {"$in": values}}, st.lists(st.sampled_from("abc"), min_size=1)
    ),
)
WHERE = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda operator, parts: {operator: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=4,
)
WHERE_DOCUMENT = st.none() | st.builds(lambda word: {"$contains": word}, st.sampled_from(WORDS))
FILTERS = st.none() | st.builds(Filters, st.none() | WHERE, WHERE_DOCUMENT)


@lru_cache
def shared() -> tuple[Any, HybridRetriever]:
    collection = chroma_collection(TEXTS, metadatas=[{"tenant": "a"}] * len(TEXTS))
    folder = Path(mkdtemp(prefix="isolation-"))
    return collection, chroma_retriever(collection, TokenEmbedder(), cache_dir=folder)


def matches(where: Mapping[str, Any], metadata: Metadata) -> bool:
    """Chroma's filter language, written down a second time."""
    [(key, condition)] = where.items()
    if key == "$and":
        return all(matches(part, metadata) for part in condition)
    if key == "$or":
        return any(matches(part, metadata) for part in condition)
    value = metadata[key]
    [(operator, wanted)] = (
        condition if isinstance(condition, dict) else {"$eq": condition}
    ).items()
    checks: dict[str, Callable[[], bool]] = {
        "$eq": lambda: value == wanted,
        "$ne": lambda: value != wanted,
        "$gt": lambda: value > wanted,
        "$gte": lambda: value >= wanted,
        "$lt": lambda: value < wanted,
        "$lte": lambda: value <= wanted,
        "$in": lambda: value in wanted,
    }
    return checks[operator]()


def permitted(filters: Filters | None, metadata: Mapping[str, Metadata]) -> set[str]:
    if filters is None:
        return set(TEXTS)
    word = (filters.where_document or {}).get("$contains", "")
    return {
        id_
        for id_, text in TEXTS.items()
        if word in text and (not filters.where or matches(filters.where, metadata[id_]))
    }


def ranked(ranking: Ranking | None) -> set[str]:
    return set(ranking.ids) if ranking is not None else set()


@settings(max_examples=60, deadline=None)
@given(METADATA, st.lists(FILTERS, min_size=1, max_size=4), st.floats(0, 1), st.sampled_from(WORDS))
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
            assert seen.vectors is None or len(seen.vectors) == min(3, len(seen))


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
