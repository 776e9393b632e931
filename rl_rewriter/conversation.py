"""Queries and earlier turns from whatever a chain has: messages, pairs, mappings, strings."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.types import Filters, Query, Role, Turn

MAX_TURNS = 50
"""Of longer conversations only the end is looked at."""

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "humanmessagechunk": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
}


def as_query(
    query: Query | str,
    *,
    history: Sequence[Any] | None = None,
    filters: Filters | Mapping[str, Any] | None = None,
) -> Query:
    """A Query from what callers have at hand."""
    asked = query if isinstance(query, Query) else Query(query)
    if history is not None:
        asked = dataclasses.replace(asked, history=as_history(history))
    if filters is not None:
        if not isinstance(filters, Filters | Mapping):
            raise InputError(f"filters must be a mapping, not {type(filters).__name__}")
        restriction = filters if isinstance(filters, Filters) else Filters(where=dict(filters))
        asked = dataclasses.replace(asked, filters=restriction)
    return asked


def as_history(messages: Sequence[Any]) -> tuple[Turn, ...]:
    """Turns, oldest first; messages of other roles (system, tool) and without text are left out.

    Args:
        messages: LangChain messages, LlamaIndex ChatMessages, (role, text) pairs, mappings with
            "role" and "content" (or "text"), :class:`Turn`, or plain strings (user and assistant
            alternating).

    Raises:
        InputError: A message is none of these.
    """
    messages = getattr(messages, "messages", messages)  # a chat history object
    if isinstance(messages, str) or not isinstance(messages, Iterable):
        raise InputError(f"history must be a list of turns, not {type(messages).__name__}")
    turns: list[Turn] = []
    for position, message in deque(enumerate(messages), maxlen=MAX_TURNS):
        if isinstance(message, str):
            turn: Turn | None = Turn("assistant" if position % 2 else "user", message)
        else:
            turn = message if isinstance(message, Turn) else _from_message(message)
        if turn is not None and turn.text.strip():
            turns.append(turn)
    return tuple(turns)


def _from_message(message: Any) -> Turn | None:
    if isinstance(message, tuple | list) and len(message) == 2:
        role, content = message
    elif isinstance(message, dict):
        role = message.get("role", message.get("type"))
        content = message.get("content", message.get("text"))
        if role is None or not {"content", "text"} & message.keys():
            raise InputError(
                f'a turn of the history needs "role" and "content", got {sorted(message)[:5]}'
            )
    elif hasattr(message, "content"):
        role = getattr(message, "role", None) or getattr(message, "type", None)
        content = message.content
    else:
        raise InputError(
            f"a turn of the history must be a message, a (role, text) pair or a string, not "
            f"{type(message).__name__}"
        )
    name = _ROLES.get(str(getattr(role, "value", role)).lower())
    return Turn(name, _plain_text(content)) if name is not None else None


def _plain_text(content: Any) -> str:
    """The text of a message whose content may be a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part if isinstance(part, str) else _part_text(part) for part in content]
        return " ".join(part for part in parts if part)
    return ""


def _part_text(part: Any) -> str:
    if isinstance(part, dict):
        text = part.get("text", "")
        return text if isinstance(text, str) else ""
    return str(getattr(part, "text", "") or "")
