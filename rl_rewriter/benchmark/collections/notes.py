"""Sentences about what is odd in a collection, but usable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse

from rl_rewriter.benchmark.collections.gathered import Gathered
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.training.splits import query_fingerprint


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: "1 query", "3 queries"."""
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def notes_on(
    collection: JudgedCollection,
    found: Gathered,
    query_ids: Iterable[str],
    leaked: Mapping[str, str],
) -> Iterator[str]:
    """What users should know before they believe a figure, a sentence each.

    Args:
        collection: The collection as it is used.
        found: Its judgements.
        query_ids: All queries that it came with.
        leaked: Training query -> held-out query with the same words, left out.
    """
    unjudged = [id_ for id_ in query_ids if id_ not in found.qrels]
    if unjudged:
        yield f"{_queries(len(unjudged))} without judgements left out, such as {unjudged[0]!r}"
    answerable = found.answerable
    hopeless = list(filterfalse(answerable.__contains__, found.qrels))
    if hopeless:
        yield (
            f"{_queries(len(hopeless))} left out because no document is judged relevant, such as "
            f"{hopeless[0]!r}"
        )
    if leaked:
        pair = next(iter(leaked.items()))
        yield (
            f"{counted(len(leaked), 'training query', 'training queries')} left out because a "
            f"held-out query has the same words, such as {pair[0]!r} and {pair[1]!r}"
        )
    yield from _on_shared_groups(collection)
    yield from _on_equal("query", "queries", _query_contents(collection))
    yield from _on_equal("document", "documents", collection.documents.items())
    if found.repeated:
        query_id, document_id = found.repeated[0]
        yield (
            f"{counted(len(found.repeated), 'judgement')} given twice, such as that of "
            f"{document_id!r} for {query_id!r}"
        )


def _queries(n: int) -> str:
    return counted(n, "query", "queries")


def _query_contents(collection: JudgedCollection) -> list[tuple[str, str]]:
    return [(query.id, query_fingerprint(query)) for query in collection.queries]


def _on_equal(singular: str, plural: str, contents: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A note where several ids have one content."""
    first: dict[str, str] = {}
    pairs: list[Sequence[str]] = []
    for id_, content in contents:
        other = first.setdefault(content, id_)
        if other != id_:
            pairs.append((other, id_))
    if pairs:
        yield (
            f"{counted(len(pairs), singular, plural)} with the words of another, such as "
            f"{pairs[0][1]!r} and {pairs[0][0]!r}"
        )


def _on_shared_groups(collection: JudgedCollection) -> Iterator[str]:
    """A note where the collection's own split runs through a conversation or a need."""
    if collection.protocol != "split":
        return
    trained_on = {collection.group_of(query) for query in collection.train}
    shared = [query.id for query in collection.test if collection.group_of(query) in trained_on]
    if shared:
        yield (
            f"{counted(len(shared), 'held-out query', 'held-out queries')} of a conversation or a "
            f"need that is trained on too, such as {shared[0]!r}"
        )
