"""What readers take from files, before anything is checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rl_rewriter.benchmark.collections.files import Place
from rl_rewriter.types import Turn


class DocumentRow(NamedTuple):
    """One document."""

    id: str
    text: str
    place: Place


class QueryRow(NamedTuple):
    """One query.

    Attributes:
        id: Its name in judgements.
        text: What was asked, "" where there is nothing.
        place: Where it stands.
        history: Earlier turns, oldest first.
        group: What it belongs to (its need, its conversation), "" where nothing tells.
        kind: Kind of query, "" where nothing tells.
    """

    id: str
    text: str
    place: Place
    history: tuple[Turn, ...] = ()
    group: str = ""
    kind: str = ""


class Judgement(NamedTuple):
    """How relevant one document is to one query.

    Attributes:
        query_id: The query.
        document_id: The document.
        grade: 0 and below: judged not relevant.
        place: Where it stands.
        held_out: Whether it stands in the part that is kept for testing.
    """

    query_id: str
    document_id: str
    grade: float
    place: Place
    held_out: bool = False


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A collection as its files give it.

    Attributes:
        name: For tables.
        source: File or folder, for messages.
        documents: None where no documents lie with the judgements. Not looked at where documents
            are elsewhere, so that a generator saves reading them.
        queries: All queries.
        judgements: All judgements.
        notes: What the reader found odd, a sentence each.
        has_unnamed: Whether judgements name documents by their text: those can't be looked up in a
            collection of the user's own.
    """

    name: str
    source: Path
    documents: Iterable[DocumentRow] | None
    queries: Iterable[QueryRow]
    judgements: Iterable[Judgement]
    notes: tuple[str, ...] = ()
    has_unnamed: bool = False
