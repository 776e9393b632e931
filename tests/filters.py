"""Random filters in Chroma's language, and that language written down a second time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from rl_rewriter.types import Filters

Metadata = Mapping[str, Any]

TENANTS = "abc"
YEARS = st.integers(2019, 2024)
METADATA = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from(TENANTS),
        "year": st.integers(2020, 2023),
        "open": st.booleans(),
    }
)
_LEAVES = st.one_of(
    st.builds(lambda value: {"tenant": value}, st.sampled_from(TENANTS)),
    st.builds(lambda value: {"open": value}, st.booleans()),
    st.builds(lambda value: {"tenant": {"$ne": value}}, st.sampled_from(TENANTS)),
    st.builds(
        lambda operator, year: {"year": {operator: year}},
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
        YEARS,
    ),
    st.builds(
        lambda operator, values: {"tenant": {operator: values}},
        st.sampled_from(["$in", "$nin"]),
        st.lists(st.sampled_from(TENANTS), min_size=1),
    ),
)
WHERE = st.recursive(
    _LEAVES,
    lambda inner: st.builds(
        lambda operator, parts: {operator: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=4,
)


def where_document(words: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Conditions on the text that name one or two of these words."""
    leaves = st.builds(
        lambda operator, word: {operator: word},
        st.sampled_from(["$contains", "$not_contains"]),
        st.sampled_from(words),
    )
    return leaves | st.builds(
        lambda operator, parts: {operator: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(leaves, min_size=2, max_size=2),
    )


def lets_through(filters: Filters | None, text: str, metadata: Metadata) -> bool:
    """Whether a document with this text and this metadata is inside."""
    if filters is None:
        return True
    return (not filters.where or _meets(filters.where, metadata)) and (
        not filters.where_document or _says(filters.where_document, text)
    )


def _meets(where: Mapping[str, Any], metadata: Metadata) -> bool:
    [(key, condition)] = where.items()
    if key == "$and":
        return all(_meets(part, metadata) for part in condition)
    if key == "$or":
        return any(_meets(part, metadata) for part in condition)
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
        "$nin": lambda: value not in wanted,
    }
    return checks[operator]()


def _says(condition: Mapping[str, Any], text: str) -> bool:
    [(operator, wanted)] = condition.items()
    if operator == "$and":
        return all(_says(part, text) for part in wanted)
    if operator == "$or":
        return any(_says(part, text) for part in wanted)
    return (wanted in text) == (operator == "$contains")
