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
_ROLES: tuple[Role, ...] = ("user", "assistant")


def asked(query: Query) -> dict[str, Any] | None:
    """What a log keeps of a query beside its words, so that it can be searched again.

    Long conversations are cut to the first turn and the last ones, and long turns at their end.
    None where the filters can't be written down.
    """
    turns = query.history
    if len(turns) > MAX_TURNS:
        turns = (turns[0], *turns[1 - MAX_TURNS :])
    found: dict[str, Any] = {
        "history": [{"role": turn.role, "text": turn.text[:MAX_CHARS]} for turn in turns]
    }
    if query.filters is not None:
        found["where"] = query.filters.where
        found["where_document"] = query.filters.where_document
        if not _is_json(found):
            return None
    return found


def asked_of(record: Mapping[str, Any]) -> Query | None:
    """The query of a valid decision record as it was searched; None where the log can't tell.

    That is where words aren't logged, or the log is of a version that didn't keep what else was
    asked.
    """
    text, told = record.get("query"), record.get("asked")
    if not text or told is None:
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


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
