"""A judged collection: documents, queries, judgements, and which queries are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rl_rewriter.errors import InputError
from rl_rewriter.training.splits import conversation_of, split_rows
from rl_rewriter.types import Qrels, Query

HELD_OUT_SHARE = 0.3
"""Part of the queries, by group, held out where a collection brings no split of its own."""


@dataclass(frozen=True)
class JudgedCollection:
    """What training and evaluation need of a collection.

    Attributes:
        name: For tables.
        documents: Document id -> text.
        queries: All judged queries.
        qrels: Query id -> document id -> grade.
        test_ids: Held-out queries of the collection's own split; None where it has none.
        groups: Query id -> what the query belongs to (its need, its conversation).
        kinds: Query id -> kind of query, where the collection tells.
    """

    name: str
    documents: Mapping[str, str]
    queries: tuple[Query, ...]
    qrels: Qrels
    test_ids: frozenset[str] | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse collections that nothing can be measured on."""
        if not self.documents:
            raise InputError(f"collection {self.name!r} has no documents")
        if not self.queries:
            raise InputError(f"collection {self.name!r} has no query with a relevant document")

    @property
    def protocol(self) -> str:
        """Where the held-out queries come from: "split" (the collection's own), else "cv5"."""
        return "split" if self.test_ids is not None else "cv5"

    def group_of(self, query: Query) -> str:
        """What a query belongs to; by default its conversation."""
        return self.groups.get(query.id) or conversation_of(query)

    @cached_property
    def train(self) -> tuple[Query, ...]:
        """Queries to learn from: those of the collection's split, or of a fixed one by group."""
        held_out = self._held_out
        return tuple(query for query in self.queries if query.id not in held_out)

    @cached_property
    def test(self) -> tuple[Query, ...]:
        """Held-out queries."""
        held_out = self._held_out
        return tuple(query for query in self.queries if query.id in held_out)

    @cached_property
    def _held_out(self) -> frozenset[str]:
        if self.test_ids is not None:
            return self.test_ids
        groups = [self.group_of(query) for query in self.queries]
        _, test_rows = split_rows(groups, HELD_OUT_SHARE, seed=0)
        return frozenset(self.queries[row].id for row in test_rows)

    def limited(self, n_queries: int) -> JudgedCollection:
        """The same collection with every k-th query, ``n_queries`` at most of each side."""
        train, test = self.train, self.test
        kept = {q.id for q in _evenly(train, n_queries)} | {q.id for q in _evenly(test, n_queries)}
        return JudgedCollection(
            name=self.name,
            documents=self.documents,
            queries=tuple(query for query in self.queries if query.id in kept),
            qrels=self.qrels,
            test_ids=self.test_ids and frozenset(self.test_ids & kept),
            groups=self.groups,
            kinds=self.kinds,
        )


def _evenly(queries: Sequence[Query], n: int) -> Sequence[Query]:
    if len(queries) <= n:
        return queries
    return [queries[len(queries) * position // n] for position in range(n)]
