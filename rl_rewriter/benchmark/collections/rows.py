"""Questions with their expected documents, one a row, as tables and JSON records have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rl_rewriter.benchmark.collections.fields import (
    CONTEXTS,
    DOCUMENTS,
    GRADE,
    GROUP,
    HISTORY,
    KIND,
    QUERY_ID,
    QUESTION,
    SPLIT,
    pick,
)
from rl_rewriter.benchmark.collections.files import Place, sample
from rl_rewriter.benchmark.collections.parts import DocumentRow, Judgement, Parts, QueryRow
from rl_rewriter.benchmark.collections.values import (
    Expected,
    expected_of,
    history_of,
    id_of,
    is_held_out,
    texts_of,
)
from rl_rewriter.errors import InputError
from rl_rewriter.text.digests import digest
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import Query

Fields = Mapping[str, Any]
"""A row's values under the names that :mod:`rl_rewriter.benchmark.collections.fields` knows."""


class JudgedRow(NamedTuple):
    """One question and the documents that a row judges for it.

    Attributes:
        query: The question; its id is the row's, or made of its words where the row has none.
        expected: The documents.
        held_out: Whether the row is kept for testing.
    """

    query: QueryRow
    expected: tuple[Expected, ...]
    held_out: bool


def rows_parts(
    name: str,
    source: Path,
    rows: Iterable[tuple[Place, Fields]],
    documents: Iterable[DocumentRow] | None,
) -> Parts:
    """Queries and judgements of rows; rows of one question are joined.

    Documents that rows give in full belong to the collection. One given by its text alone is the
    document that has this text, wherever it stands.

    Args:
        name: For tables.
        source: The file.
        rows: Fields of each row.
        documents: Those that lie beside the file; None where there are none.

    Raises:
        InputError: A row cannot be used, or none names a document.
    """
    judged: list[JudgedRow] = []
    names: dict[str, None] = {}
    for place, fields in rows:
        judged.append(_judged_row(fields, place))
        names.update(dict.fromkeys(key for key, value in fields.items() if value is not None))
    if not any(row.expected for row in judged):
        raise InputError(
            f"{source} names no expected document: looked for {sample(DOCUMENTS)} and "
            f"{CONTEXTS[0]}, found {sample(list(names))}"
        )
    has_unnamed = any(not expected.id for row in judged for expected in row.expected)
    if documents is not None and has_unnamed:
        documents = list(documents)
    ids = _ids_by_text(judged, documents or ()) if has_unnamed else {}
    own = _documents_in_full(judged, ids)
    return Parts(
        name=name,
        source=source,
        documents=_joined(documents or (), own) if documents is not None or own else None,
        queries=_distinct(judged),
        judgements=_judgements(judged, ids),
        has_unnamed=has_unnamed,
    )


def _judged_row(fields: Fields, place: Place) -> JudgedRow:
    text, history = pick(fields, QUESTION), history_of(pick(fields, HISTORY), place)
    if text is None and history and history[-1].role == "user":
        text, history = history[-1].text, history[:-1]
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{place} has no question: looked for {sample(QUESTION)}, found "
            f"{sample([key for key, value in fields.items() if value not in (None, '')])}"
        )
    held_out = is_held_out(pick(fields, SPLIT))
    id_ = pick(fields, QUERY_ID)
    if id_ is None:
        words = query_fingerprint(Query(text, history=history))
        id_ = f"{words}-held-out" if held_out else words
    query = QueryRow(
        id=id_of(id_, place),
        text=text,
        place=place,
        history=history,
        group=str(pick(fields, GROUP) or ""),
        kind=str(pick(fields, KIND) or ""),
    )
    expected = expected_of(pick(fields, DOCUMENTS), pick(fields, GRADE), place) or texts_of(
        pick(fields, CONTEXTS), place
    )
    return JudgedRow(query, expected, held_out)


def _ids_by_text(rows: Sequence[JudgedRow], documents: Iterable[DocumentRow]) -> dict[str, str]:
    """Text -> id, made of the text itself where no document of this text has one."""
    ids = {row.text.strip(): row.id for row in documents}
    expected = [item for row in rows for item in row.expected if item.text]
    for item in sorted(expected, key=lambda item: not item.id):  # given ids before made ones
        text = item.text.strip()
        ids.setdefault(text, item.id or f"text-{digest([text])[:16]}")
    return ids


def _documents_in_full(rows: Iterable[JudgedRow], ids: Mapping[str, str]) -> list[DocumentRow]:
    """Documents whose texts the rows give, each once."""
    found: dict[str, DocumentRow] = {}
    for row in rows:
        for item in row.expected:
            if item.text:
                text = item.text.strip()
                document = DocumentRow(item.id or ids[text], text, row.query.place)
                earlier = found.setdefault(document.id, document)
                if earlier.text != text:
                    raise InputError(
                        f"{document.place}: document {document.id!r} has another text than in "
                        f"{earlier.place}"
                    )
    return list(found.values())


def _joined(documents: Iterable[DocumentRow], own: Iterable[DocumentRow]) -> Iterator[DocumentRow]:
    """Documents that lie beside the file, then those of its rows that aren't among them."""
    seen = set()
    for row in documents:
        seen.add(row.id)
        yield row
    yield from (row for row in own if row.id not in seen)


def _distinct(rows: Iterable[JudgedRow]) -> Iterator[QueryRow]:
    """Each query once, refusing an id that stands for two questions."""
    seen: dict[str, QueryRow] = {}
    for row in rows:
        query = row.query
        earlier = seen.setdefault(query.id, query)
        if earlier is query:
            yield query
        elif _words(earlier) != _words(query):
            raise InputError(
                f"{query.place}: the id {query.id!r} stands for another question in {earlier.place}"
            )


def _words(row: QueryRow) -> str:
    return query_fingerprint(Query(row.text, history=row.history))


def _judgements(rows: Iterable[JudgedRow], ids: Mapping[str, str]) -> Iterator[Judgement]:
    for query, expected, held_out in rows:
        for item in expected:
            id_ = item.id or ids[item.text.strip()]
            yield Judgement(query.id, id_, item.grade, query.place, held_out)
