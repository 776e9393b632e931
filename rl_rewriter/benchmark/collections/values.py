"""What may stand in the fields of a dataset: ids, grades, histories, expected documents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rl_rewriter.benchmark.collections.fields import (
    CONTEXTS,
    DOCUMENT_ID,
    DOCUMENTS,
    GRADE,
    HISTORY,
    TEXT,
    normalised,
    pick,
)
from rl_rewriter.benchmark.collections.files import Place, parse_json, shown
from rl_rewriter.conversation import as_history
from rl_rewriter.errors import InputError
from rl_rewriter.types import Turn

_HELD_OUT = re.compile(r"(?<![a-z])test(?![a-z])|(?<![a-z])h(?:eld|old)[-_ ]?out")


class Expected(NamedTuple):
    """A document that a row judges.

    Attributes:
        id: "" where the row gives the text alone.
        text: "" where the row gives the id alone.
        grade: How relevant it is.
    """

    id: str
    text: str
    grade: float


def id_of(value: Any, place: Place) -> str:
    """An id as text.

    Raises:
        InputError: It is neither a text nor a whole number, or it is empty.
    """
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{place}: an id must be a text or a whole number, got {shown(value)}")


def grade_of(value: Any, place: Place) -> float:
    """A grade as a number.

    Raises:
        InputError: It is no finite number.
    """
    try:
        grade = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        grade = math.nan
    if not math.isfinite(grade):
        raise InputError(f"{place}: a grade must be a finite number, got {shown(value)}")
    return grade


def is_held_out(value: Any) -> bool:
    """Whether a name of a split, or of a file of one, means the part that is kept for testing."""
    names = value if isinstance(value, list) else [value]
    return any(isinstance(name, str) and _HELD_OUT.search(name.lower()) for name in names)


def history_of(value: Any, place: Place) -> tuple[Turn, ...]:
    """Earlier turns from whatever form they have.

    Raises:
        InputError: It is no list of turns.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError(f"{place}: the history is no list of turns")
    try:
        return as_history([_bare_message(turn) for turn in value])
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def table_fields(row: Mapping[str, str], place: Place) -> dict[str, Any]:
    """A table's row, with lists, histories and grades taken out of their cells.

    Raises:
        InputError: A cell that must be JSON is none.
    """
    fields: dict[str, Any] = {name: cell.strip() for name, cell in row.items()}
    for names, read in (
        (DOCUMENTS, cell_values),
        (GRADE, cell_values),
        (CONTEXTS, parse_json),
        (HISTORY, parse_json),
    ):
        name = next((name for name in names if fields.get(name)), None)
        if name is not None:
            fields[name] = read(fields[name], place)
    return fields


def cell_values(cell: str, place: Place) -> Any:
    """What a table's cell holds: a JSON list or object, else texts between ";" or "|".

    Raises:
        InputError: The cell begins like JSON but is none.
    """
    cell = cell.strip()
    if cell[:1] in ("[", "{"):
        return parse_json(cell, place)
    return [part.strip() for part in re.split(r"[;|]", cell) if part.strip()]


def expected_of(value: Any, grade: Any, place: Place) -> tuple[Expected, ...]:
    """The documents that a row judges.

    Args:
        value: Ids, ``{id: grade}``, documents in full (LangChain's and LlamaIndex's forms among
            them), or a list of any of these.
        grade: One for all, or a list with one for each; None means 1.
        place: Where they stand.

    Raises:
        InputError: Something is none of these.
    """
    if value is None:
        return ()
    if isinstance(value, Mapping) and value and all(map(_is_number, value.values())):
        return tuple(Expected(id_of(k, place), "", grade_of(g, place)) for k, g in value.items())
    items = value if isinstance(value, list) else [value]
    grades = grade if isinstance(grade, list) else [grade]
    if len(grades) == 1:
        grades = grades * len(items)
    if len(grades) != len(items):
        raise InputError(f"{place} has {len(grades)} grades for {len(items)} documents")
    return tuple(
        _expected(item, 1.0 if of_item is None else grade_of(of_item, place), place)
        for item, of_item in zip(items, grades, strict=True)
    )


def texts_of(value: Any, place: Place) -> tuple[Expected, ...]:
    """Relevant documents that are given by their text.

    Raises:
        InputError: It is neither a text nor a list of texts.
    """
    items = value if isinstance(value, list) else [] if value is None else [value]
    for item in items:
        if not isinstance(item, str) or not item.strip():
            raise InputError(f"{place}: a context must be a text, got {shown(item)}")
    return tuple(Expected("", item, 1.0) for item in items)


def _expected(item: Any, grade: float, place: Place) -> Expected:
    if not isinstance(item, Mapping):
        return Expected(id_of(item, place), "", grade)
    serialised = item.get("kwargs") if "lc" in item else None
    fields = normalised(serialised if isinstance(serialised, Mapping) else item)
    id_, text, own = pick(fields, DOCUMENT_ID), pick(fields, TEXT), pick(fields, GRADE)
    if id_ is None and not isinstance(text, str):
        raise InputError(f"{place}: a document has neither an id nor a text: {shown(dict(item))}")
    return Expected(
        "" if id_ is None else id_of(id_, place),
        text if isinstance(text, str) else "",
        grade if own is None else grade_of(own, place),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bare_message(turn: Any) -> Any:
    """The message itself where a framework wrapped it to store it."""
    if isinstance(turn, Mapping):
        for wrapper in ("data", "kwargs"):
            if isinstance(turn.get(wrapper), dict):
                return {"type": turn.get("type"), **turn[wrapper]}
    return turn
