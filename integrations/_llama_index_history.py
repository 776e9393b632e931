"""Where a LlamaIndex retriever learns what was said before: a block's messages, or a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rl_rewriter.conversation import as_history
from rl_rewriter.errors import InputError
from rl_rewriter.integrations._serving import Request, Turns
from rl_rewriter.serving.workers import LateError
from rl_rewriter.types import Turn

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


def chat_turns() -> Turns | None:
    """Turns of the block that this runs in; None outside of one."""
    said = _said.get()
    return None if said is None else (lambda question: _before(said, question))


def turns_of(memory: Any) -> Turns | None:
    """Turns of the block, else of the memory, which is read when they are asked for."""
    said = chat_turns()
    if said is not None or memory is None:
        return said
    return lambda question: _before(as_history(getattr(memory, _reader_of(memory))()), question)


async def aread(request: Request, memory: Any) -> Request:
    """A request with the turns of the block, else of the memory, without blocking the loop."""
    said = chat_turns()
    if said is not None or memory is None or request.ticket.problem:
        return request.with_history(said)
    reader = f"a{_reader_of(memory)}"
    if not hasattr(memory, reader):
        return request.with_history(turns_of(memory))  # read where the decision is made
    try:
        turns = as_history(await request.ticket.waited(getattr(memory, reader)()))
    except LateError as error:
        request.ticket.refuse("timeout", error)
        return request
    except Exception as error:
        request.ticket.refuse("history", error)
        return request
    return request.with_history(lambda question: _before(turns, question))


def _reader_of(memory: Any) -> str:
    """All messages where they can be had: the shortened form may count tokens or ask an LLM."""
    return "get_all" if hasattr(memory, "get_all") else "get"


def _before(turns: tuple[Turn, ...], question: str) -> tuple[Turn, ...]:
    """Turns without the question itself: some chains store it before they search for it."""
    if turns and turns[-1].role == "user" and turns[-1].text.strip() == question.strip():
        return turns[:-1]
    return turns
