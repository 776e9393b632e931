"""Queries with the same words on both sides of a split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import Query


def leaked(queries: Sequence[Query], test_ids: Collection[str]) -> dict[str, str]:
    """Training query -> held-out query with the same words and history."""
    held_out = {query_fingerprint(q): q.id for q in reversed(queries) if q.id in test_ids}
    twins = {q.id: held_out.get(query_fingerprint(q)) for q in queries if q.id not in test_ids}
    return {id_: twin for id_, twin in twins.items() if twin is not None}


def joined_groups(queries: Sequence[Query], group_of: Callable[[Query], str]) -> dict[str, str]:
    """Groups by query id in which queries with the same words are together.

    A split by group then has none of them on both sides. Groups are joined wherever two of them
    share a query (union-find), and the joined one has the name of one of them.

    Returns:
        A group for every query; empty where no groups had to be joined.
    """
    above: dict[str, str] = {}

    def top(name: str) -> str:
        path = []
        while name in above:
            path.append(name)
            name = above[name]
        above.update(dict.fromkeys(path, name))
        return name

    first: dict[str, str] = {}
    for query in queries:
        mine = top(group_of(query))
        other = top(first.setdefault(query_fingerprint(query), mine))
        if mine != other:
            above[mine] = other
    return {query.id: top(group_of(query)) for query in queries} if above else {}
