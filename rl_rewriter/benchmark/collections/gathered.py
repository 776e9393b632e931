"""Judgements by query, with what is contradictory refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rl_rewriter.benchmark.collections.parts import Judgement
from rl_rewriter.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """All judgements of a collection.

    Attributes:
        qrels: Query id -> document id -> grade.
        held_out: Ids of queries in the part that is kept for testing.
        repeated: Judgements, as (query id, document id), that stand there again.
    """

    qrels: dict[str, dict[str, float]]
    held_out: frozenset[str]
    repeated: tuple[tuple[str, str], ...]

    @property
    def answerable(self) -> frozenset[str]:
        """Ids of queries with a relevant document: one of a grade above 0."""
        return frozenset(
            id_ for id_, grades in self.qrels.items() if any(g > 0 for g in grades.values())
        )

    @property
    def has_split(self) -> bool:
        """Whether some queries are held out, and others aren't."""
        return 0 < len(self.held_out) < len(self.qrels)


def gather(judgements: Iterable[Judgement]) -> Gathered:
    """Order judgements by query.

    Raises:
        InputError: A pair has two grades, or a query is both held out and trained on.
    """
    qrels: dict[str, dict[str, float]] = {}
    held_out: dict[str, bool] = {}
    repeated: list[tuple[str, str]] = []
    for query_id, document_id, grade, place, is_held_out in judgements:
        if held_out.setdefault(query_id, is_held_out) != is_held_out:
            raise InputError(
                f"{place}: query {query_id!r} is in the training part and in the held-out part; a "
                "held-out query must not be trained on"
            )
        grades = qrels.setdefault(query_id, {})
        earlier = grades.get(document_id)
        if earlier is None:
            grades[document_id] = grade
        elif earlier == grade:
            repeated.append((query_id, document_id))
        else:
            raise InputError(
                f"{place}: document {document_id!r} is judged {grade:g} for query {query_id!r}, "
                f"and {earlier:g} before"
            )
    return Gathered(
        qrels=qrels,
        held_out=frozenset(id_ for id_, is_test in held_out.items() if is_test),
        repeated=tuple(repeated),
    )
