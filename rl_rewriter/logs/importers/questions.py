"""The user's words in the input of a span, which each framework wraps in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rl_rewriter.logs.importers.scalars import parsed
from rl_rewriter.types import MAX_QUERY_CHARS

_QUESTIONS = ("question", "query", "input", "query_str", "user_input", "prompt", "text", "content")
_BUNDLES = ("str_or_query_bundle", "query_bundle", "kwargs", "data")
_MESSAGES = ("messages", "input.messages")
_HISTORIES = ("chat_history", "history")
_USERS = frozenset({"user", "human"})
_MAX_DEPTH = 6

Question = tuple[str | None, int]
"""The words, and how many messages came before them."""

NO_QUESTION: Question = (None, 0)


def question_in(value: Any, depth: int = 0) -> Question:
    """The words that a span was asked, and the number of earlier messages in its input.

    Args:
        value: A text; an object with the question under a usual name or with messages; a list of
            messages; any of these as JSON text.
        depth: How far inside an input this is; deeper than six levels nothing is looked for.

    Returns:
        None for the words where the input has none, or more than anybody asks (a pasted document).
    """
    if depth > _MAX_DEPTH:
        return NO_QUESTION
    if isinstance(value, str):
        inner = parsed(value)
        if inner is not value and not isinstance(inner, str):
            found = question_in(inner, depth + 1)
            return found if found[0] is not None else _of_text(value)
        return _of_text(inner)
    if isinstance(value, dict):
        return _of_object(value, depth)
    if isinstance(value, list | tuple):
        return _of_messages(value, depth)
    return NO_QUESTION


def _of_text(text: str) -> Question:
    return (text, 0) if text.strip() and len(text) <= MAX_QUERY_CHARS else NO_QUESTION


def _of_object(value: Mapping[str, Any], depth: int) -> Question:
    for key in (*_QUESTIONS, *_BUNDLES, *_MESSAGES):
        if key in value:
            question, before = question_in(value[key], depth + 1)
            if question is not None:
                return question, before + _earlier(value)
    return NO_QUESTION


def _earlier(value: Mapping[str, Any]) -> int:
    for key in _HISTORIES:
        if isinstance(history := value.get(key), list):
            return len(history)
    return 0


def _of_messages(messages: Sequence[Any], depth: int) -> Question:
    if len(messages) == 1 and isinstance(messages[0], list) and not _is_pair(messages[0]):
        return question_in(messages[0], depth + 1)  # a batch of one
    for number in range(len(messages) - 1, -1, -1):
        role, content = _message(messages[number])
        if role in _USERS:
            text = _text_of(content)
            return (text, number) if text is not None else NO_QUESTION
    return NO_QUESTION


def _message(message: Any) -> tuple[str, Any]:
    if _is_pair(message):
        return message[0].lower(), message[1]
    if not isinstance(message, dict):
        return "", None
    for wrapper in ("kwargs", "data", "message"):
        if isinstance(inner := message.get(wrapper), dict):
            inner_role, content = _message(inner)
            return inner_role or _role(message), content
    role = _role(message) or str(message.get("message.role") or "").lower()
    for key in ("content", "parts", "message.content", "blocks"):
        if key in message:
            return role, message[key]
    return role, None


def _is_pair(message: Any) -> bool:
    """Whether this is (role, content)."""
    return isinstance(message, list | tuple) and len(message) == 2 and isinstance(message[0], str)


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role") or message.get("type")
    if role == "constructor" and isinstance(path := message.get("id"), list) and path:
        role = str(path[-1]).removesuffix("Message")  # LangChain's own serialisation
    return role.lower() if isinstance(role, str) else ""


def _text_of(content: Any) -> str | None:
    """The text of a message, whose content may be a list of parts."""
    if isinstance(content, list):
        parts = [part if isinstance(part, str) else _part(part) for part in content]
        content = "\n".join(part for part in parts if part)
    return _of_text(content)[0] if isinstance(content, str) else None


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return ""
    text = part.get("text") or part.get("content")
    return text if isinstance(text, str) else ""
