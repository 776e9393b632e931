"""A judged collection: documents, queries, judgements, and which queries are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        documents: Document id -> text; empty where the documents are in the user's own store.
        queries: All judged queries.
        qrels: Query id -> document id -> grade.
        test_ids: Held-out queries; None where the collection has no split of its own.
        groups: Query id -> what the query belongs to (its need, its conversation).
        kinds: Query id -> kind of query, where the collection tells.
        is_own_split: Whether ``test_ids`` come with the collection; not so where a part of it
            keeps to the split that was made for the whole.
        notes: What is odd but usable, a sentence each.
    """

    name: str
    documents: Mapping[str, str]
    queries: tuple[Query, ...]
    qrels: Qrels
    test_ids: frozenset[str] | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    is_own_split: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse collections that nothing can be measured on."""
        if not self.queries:
            raise InputError(f"collection {self.name!r} has no query with a relevant document")
        if self.test_ids is None:
            return
        for side, queries in (("training", self.train), ("held-out", self.test)):
            if not queries:
                raise InputError(
                    f"none of the {side} queries of {self.name!r} has a relevant document"
                )

    @property
    def protocol(self) -> str:
        """Where the held-out queries come from: "split" (the collection's own), else "cv5"."""
        return "split" if self.test_ids is not None and self.is_own_split else "cv5"

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
        train, test = evenly(self.train, n_queries), evenly(self.test, n_queries)
        kept = {query.id for query in (*train, *test)}
        return replace(
            self,
            queries=tuple(query for query in self.queries if query.id in kept),
            test_ids=frozenset(query.id for query in test),
            is_own_split=self.protocol == "split",
        )


def evenly(queries: Sequence[Query], n_queries: int) -> tuple[Query, ...]:
    """At most ``n_queries`` of them, spread over the whole."""
    n = min(len(queries), n_queries)
    return tuple(queries[len(queries) * position // n] for position in range(n))
