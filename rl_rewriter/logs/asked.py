"""The conversation and the filters of a logged query: what its words alone don't tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rl_rewriter.types import Filters, Query, Role, Turn

MAX_TURNS = 20
"""Turns of a conversation that are logged: the first and the last ones."""
MAX_CHARS = 2_000
"""Characters of each turn that are logged."""
MAX_FILTER_CHARS = 20_000
"""Characters of the filters as JSON that are logged; longer ones are left out as a whole."""
_ROLES: tuple[Role, ...] = ("user", "assistant")


def asked(query: Query) -> dict[str, Any] | None:
    """What a log keeps of a query beside its words, so that it can be searched again.

    Long conversations are cut to the first turn and the last ones, and long turns at their end.
    None where the conversation or the filters can't be written down as they are.
    """
    turns = query.history
    if len(turns) > MAX_TURNS:
        turns = (turns[0], *turns[1 - MAX_TURNS :])
    found: dict[str, Any] = {
        "history": [
            {"role": turn.role, "text": turn.text[:MAX_CHARS]}
            for turn in turns
            if isinstance(turn, Turn)
        ]
    }
    if query.filters is not None:
        restrictions = {
            "where": query.filters.where,
            "where_document": query.filters.where_document,
        }
        if not _is_short_json(restrictions):
            return None
        found |= restrictions
    is_whole = len(found["history"]) == len(turns)
    return found if is_whole and is_asked(found) else None  # readers refuse what isn't


def asked_of(record: Mapping[str, Any]) -> Query | None:
    """The query of a valid decision record as it was searched; None where the log can't tell.

    That is where words aren't logged, where what else was asked couldn't be or wasn't kept, as in
    older versions, or where the words are none to search for.
    """
    text, told = record.get("query"), record.get("asked")
    if not text or told is None:
        return None
    if not Query(text).is_searchable:
        return None
    history = tuple(Turn(turn["role"], turn["text"]) for turn in told["history"])
    where, where_document = told.get("where"), told.get("where_document")
    filters = None if where is None and where_document is None else Filters(where, where_document)
    return Query(text, history, filters)


def is_asked(value: Any) -> bool:
    """Whether a JSON value is what :func:`asked` gives."""
    if type(value) is not dict or type(value.get("history")) is not list:
        return False
    restrictions = (value.get("where"), value.get("where_document"))
    return all(part is None or type(part) is dict for part in restrictions) and all(
        type(turn) is dict and turn.get("role") in _ROLES and type(turn.get("text")) is str
        for turn in value["history"]
    )


def _is_short_json(value: Any) -> bool:
    """Whether JSON brings back the same, and not too much of it."""
    try:
        text = json.dumps(value, allow_nan=False)
        return len(text) <= MAX_FILTER_CHARS and bool(json.loads(text) == value)
    except (TypeError, ValueError, RecursionError):
        return False
