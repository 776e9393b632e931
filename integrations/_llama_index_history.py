"""Where a LlamaIndex retriever learns what was said before: a block's messages, or a memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rl_rewriter.conversation import as_history
from rl_rewriter.errors import InputError
from rl_rewriter.types import Turn

_logger = logging.getLogger(__name__)

History = tuple[tuple[Turn, ...], str]
"""Turns, and "history" where they couldn't be read."""

_said: ContextVar[tuple[Turn, ...] | None] = ContextVar("chat_history", default=None)


@contextmanager
def chat_history(messages: Sequence[Any]) -> Iterator[None]:
    """Earlier turns for every query inside the block, in this thread or task; wins over a memory.

    Args:
        messages: ChatMessages, (role, text) pairs, or plain strings (user and assistant
            alternating), oldest first, without the question itself.

    Raises:
        InputError: A message is none of these.
    """
    token = _said.set(as_history(messages))
    try:
        yield
    finally:
        _said.reset(token)


def check_memory(memory: Any) -> None:
    """Refuse what has no messages to read.

    Raises:
        InputError: The object has neither ``get_all`` nor ``get``.
    """
    if memory is not None and not (hasattr(memory, "get_all") or hasattr(memory, "get")):
        raise InputError(
            f"memory must have get_all() or get(), as ChatMemoryBuffer has; a "
            f"{type(memory).__name__} has neither"
        )


def read_history(memory: Any, question: str) -> History:
    """Turns of the block, else of the memory; never raises."""
    try:
        said = _said.get()
        if said is None and memory is not None:
            said = as_history(getattr(memory, _reader_of(memory))())
    except Exception as error:
        return _unreadable(error)
    return _before(said or (), question), ""


async def aread_history(memory: Any, question: str) -> History:
    """The same, without blocking the loop."""
    try:
        said = _said.get()
        if said is None and memory is not None:
            reader = _reader_of(memory)
            if hasattr(memory, f"a{reader}"):
                said = as_history(await getattr(memory, f"a{reader}")())
            else:
                said = as_history(await asyncio.to_thread(getattr(memory, reader)))
    except Exception as error:
        return _unreadable(error)
    return _before(said or (), question), ""


def _reader_of(memory: Any) -> str:
    """All messages where they can be had: the shortened form may count tokens or ask an LLM."""
    return "get_all" if hasattr(memory, "get_all") else "get"


def _unreadable(error: Exception) -> History:
    _logger.warning("the chat memory could not be read: %s", error)
    return (), "history"


def _before(turns: tuple[Turn, ...], question: str) -> tuple[Turn, ...]:
    """Turns without the question itself: some chains store it before they search for it."""
    if turns and turns[-1].role == "user" and turns[-1].text.strip() == question.strip():
        return turns[:-1]
    return turns
