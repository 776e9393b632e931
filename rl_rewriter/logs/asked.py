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
MAX_FILTER_LEVELS = 50
"""Objects and lists within each other in the filters as JSON; likewise."""
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
    older versions, where the filters are none that :func:`asked` writes, or where the words are
    none to search for, as surrogates are that stand alone.
    """
    text, told = record.get("query"), record.get("asked")
    if not text or told is None:
        return None
    said = (turn["text"] for turn in told["history"])
    if not Query(text).is_searchable or not _is_unicode("".join((text, *said))):
        return None
    history = tuple(Turn(turn["role"], turn["text"]) for turn in told["history"])
    where, where_document = told.get("where"), told.get("where_document")
    if where is None and where_document is None:
        return Query(text, history)
    if not _is_short_json([where, where_document]):
        return None
    return Query(text, history, Filters(where, where_document))


def is_asked(value: Any) -> bool:
    """Whether a JSON value is what :func:`asked` gives."""
    if type(value) is not dict or type(value.get("history")) is not list:
        return False
    restrictions = (value.get("where"), value.get("where_document"))
    return all(part is None or type(part) is dict for part in restrictions) and all(
        type(turn) is dict and turn.get("role") in _ROLES and type(turn.get("text")) is str
        for turn in value["history"]
    )


def _is_unicode(text: str) -> bool:
    """Whether a text can be handed to an embedder or a store: JSON holds surrogates, UTF-8 none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_short_json(value: Any) -> bool:
    """Whether JSON brings back the same, and not too much of it."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) > MAX_FILTER_CHARS:
            return False
        again = json.loads(text)
        return bool(again == value) and _is_flat(again, 1 + MAX_FILTER_LEVELS)  # one around all
    except (TypeError, ValueError, RecursionError):
        return False


def _is_flat(value: Any, levels: int) -> bool:
    """Whether a JSON value has at most so many levels below it."""
    if type(value) not in (dict, list):
        return True
    parts = value.values() if type(value) is dict else value
    return levels > 0 and all(_is_flat(part, levels - 1) for part in parts)
