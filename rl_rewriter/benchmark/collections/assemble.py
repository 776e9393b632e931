"""The checks that every format goes through, from the rows of its reader to a collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from rl_rewriter.benchmark.collections.files import shown
from rl_rewriter.benchmark.collections.gathered import Gathered, gather
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.leakage import joined_groups, leaked
from rl_rewriter.benchmark.collections.notes import counted, notes_on
from rl_rewriter.benchmark.collections.parts import DocumentRow, Parts, QueryRow
from rl_rewriter.errors import InputError
from rl_rewriter.training.splits import conversation_of
from rl_rewriter.types import Query


def assemble(parts: Parts, *, documents_elsewhere: bool = False) -> JudgedCollection:
    """Check what a reader found, in one pass over each kind of row, and make a collection of it.

    What is odd but usable becomes a note. Training queries with the words of a held-out one are
    left out; where there is no split, queries with the same words are put into one group.

    Args:
        parts: What the reader found.
        documents_elsewhere: Whether the documents are in a store of the user's own. Those of
            ``parts`` are not read then, and the collection has none.

    Raises:
        InputError: An id is unknown or doubled, a text is empty, judgements contradict each other,
            documents are missing, or nothing is judged relevant.
    """
    documents = _no_documents(parts) if documents_elsewhere else _documents(parts)
    found = gather(parts.judgements)
    rows = _by_id(parts.queries)
    answerable = found.answerable
    if not answerable:
        raise InputError(f"{parts.source} has no judgement above 0: nothing can be measured")
    _refuse_unknown(parts, "query", "queries", found.qrels.keys() - rows.keys())
    if not documents_elsewhere:
        judged = {id_ for grades in found.qrels.values() for id_ in grades}
        _refuse_unknown(parts, "document", "documents", judged - documents.keys())
    usable = {id_: row for id_, row in rows.items() if id_ in answerable}
    queries = [_query(row) for row in usable.values()]
    twins = leaked(queries, found.held_out) if found.has_split else {}
    kept = [query for query in queries if query.id not in twins]
    if twins and all(query.id in found.held_out for query in kept):
        raise InputError(
            f"{parts.source}: nothing is left to train on, since every training query has the "
            f"words of a held-out one, such as {next(iter(twins))!r}"
        )
    made = _collection(parts, documents, found, usable, kept)
    return replace(made, notes=(*parts.notes, *notes_on(made, found, rows, twins)))


def _collection(
    parts: Parts,
    documents: Mapping[str, str],
    found: Gathered,
    rows: Mapping[str, QueryRow],
    queries: list[Query],
) -> JudgedCollection:
    groups = {query.id: group for query in queries if (group := rows[query.id].group)}
    if not found.has_split:
        joined = joined_groups(queries, lambda q: groups.get(q.id) or conversation_of(q))
        groups = joined or groups
    return JudgedCollection(
        name=parts.name,
        documents=documents,
        queries=tuple(queries),
        qrels=found.qrels,
        test_ids=found.held_out if found.has_split else None,
        groups=groups,
        kinds={query.id: kind for query in queries if (kind := rows[query.id].kind)},
    )


def _no_documents(parts: Parts) -> dict[str, str]:
    if parts.has_unnamed:
        raise InputError(
            f"{parts.source} gives relevant documents by their text, which cannot be looked up in "
            "your own Chroma; give their ids, or leave out --chroma-path and --chroma-host"
        )
    return {}


def _documents(parts: Parts) -> dict[str, str]:
    if parts.documents is None:
        raise InputError(
            f"{parts.source} comes without documents: put them beside it as corpus.jsonl "
            '({"_id": ..., "text": ...} on each line), or name the Chroma collection that holds '
            "them with --chroma-path DIR --collection NAME"
        )
    rows: dict[str, DocumentRow] = {}
    empty: list[DocumentRow] = []
    for row in parts.documents:
        if rows.setdefault(row.id, row) is not row:
            raise InputError(f"{row.place}: the id {row.id!r} stands twice")
        if not row.text.strip():
            empty.append(row)
    if empty:
        raise InputError(
            f"{empty[0].place}: document {empty[0].id!r} has no text"
            + (f", like {counted(len(empty) - 1, 'other')}" if len(empty) > 1 else "")
        )
    if not rows:
        raise InputError(f"{parts.source} has no documents")
    return {id_: row.text for id_, row in rows.items()}


def _by_id(queries: Iterable[QueryRow]) -> dict[str, QueryRow]:
    rows: dict[str, QueryRow] = {}
    for row in queries:
        if rows.setdefault(row.id, row) is not row:
            raise InputError(f"{row.place}: the id {row.id!r} stands twice")
    return rows


def _refuse_unknown(parts: Parts, one: str, many: str, unknown: Collection[str]) -> None:
    if unknown:
        number = counted(len(unknown), f"unknown {one}", f"unknown {many}")
        raise InputError(f"{parts.source}: judgements name {number}, such as {shown(min(unknown))}")


def _query(row: QueryRow) -> Query:
    if not row.text.strip():
        raise InputError(f"{row.place}: query {row.id!r} has no text")
    return Query(row.text, history=row.history, id=row.id)
