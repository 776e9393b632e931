"""Parts of the conversation as texts: the last answer, the first and last question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from rl_rewriter.types import Query

MAX_HISTORY_CHARS = 2000
"""Of long histories only the end counts."""
MAX_TURNS = 6
"""Turns that are brought in one by one; each costs an embedding."""

Part = Literal["last_user", "last_answer", "first_last", "user_turns", "each_turn", "everything"]


def parts_of_history(query: Query, part: Part) -> list[str]:
    """The texts of the named turns, the ends of long ones; none where there is nothing."""
    chosen = [text[-MAX_HISTORY_CHARS:].strip() for text in _PARTS[part](query)]
    return [text for text in chosen if text]


def in_front(query: Query, part: Part) -> str:
    """The named turns and then the query, as one text; "" where that part is empty."""
    texts = parts_of_history(query, part)
    return " ".join((*texts, query.text)) if texts else ""


def texts_of_views(query: Query) -> tuple[str, ...]:
    """The parts that are embedded beside the query, where a blend looks at the conversation."""
    texts = (in_front(query, "first_last"), " ".join(parts_of_history(query, "last_answer")))
    return tuple(text for text in texts if text)


def _turns(query: Query, role: str | None = None) -> list[str]:
    return [turn.text for turn in query.history if role is None or turn.role == role]


def _first_last(query: Query) -> list[str]:
    turns = _turns(query, "user")
    return [" ".join(dict.fromkeys(turns[:1] + turns[-1:]))]


_PARTS: Mapping[str, Callable[[Query], list[str]]] = {
    "last_user": lambda query: _turns(query, "user")[-1:],
    "last_answer": lambda query: _turns(query, "assistant")[-1:],
    "first_last": _first_last,
    "user_turns": lambda query: [" ".join(_turns(query, "user"))],
    "each_turn": lambda query: _turns(query)[-MAX_TURNS:],
    "everything": lambda query: [" ".join(_turns(query))],
}
