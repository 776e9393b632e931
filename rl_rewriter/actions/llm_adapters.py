"""One function from prompt to text for whatever the user has: LangChain, LlamaIndex, a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.text.digests import digest

Ask = Callable[[str], str]
"""Answers a prompt."""

_METHODS = ("invoke", "complete")
"""What LangChain's and LlamaIndex's models are asked by."""
_EXPECTED = "a LangChain chat model, a LlamaIndex LLM or a function from prompt to text"


def as_ask(llm: Any) -> Ask:
    """The function that asks a language model.

    Args:
        llm: Anything with ``invoke(prompt)`` that gives a message or a text (LangChain), with
            ``complete(prompt)`` that gives a completion (LlamaIndex), or a function.

    Raises:
        InputError: The object is none of these, or can only be awaited.
    """
    for method in _METHODS:
        if callable(found := getattr(llm, method, None)) and not isinstance(llm, type):
            return _TextOf(found)
    if not callable(llm) or isinstance(llm, type):
        raise InputError(f"cannot ask a {_kind(llm)}; pass {_EXPECTED}")
    if inspect.iscoroutinefunction(llm):
        raise InputError(f"{_kind(llm)} must be awaited; pass {_EXPECTED} that isn't async")
    return _TextOf(llm)


def identity_of(llm: Any) -> str:
    """Names a language model as far as it tells: answers are kept under this name.

    Class, model and temperature; for a function its name and a hash of its code, so that two of
    one name, or two versions of one, are told apart; for an object that is called both.
    """
    code = getattr(llm, "__code__", None)
    if isinstance(code, CodeType):
        return f"{llm.__module__}.{llm.__qualname__}{_version(code)}"
    kind = type(llm)
    settings = [
        f"{name}={value}"
        for name in ("model_name", "model", "model_id", "deployment_name", "temperature")
        if isinstance(value := getattr(llm, name, None), str | int | float)
    ]
    is_called = not any(callable(getattr(llm, method, None)) for method in _METHODS)
    method = inspect.getattr_static(kind, "__call__", None)
    code = getattr(method, "__code__", None) if is_called else None
    version = _version(code) if isinstance(code, CodeType) else ""
    return ":".join([f"{kind.__module__}.{kind.__qualname__}", *settings]) + version


@dataclass(frozen=True)
class _TextOf:
    """Takes the text out of what a method answers; can be pickled where the method can."""

    ask: Callable[[str], Any]

    def __call__(self, prompt: str) -> str:
        return _text_of(self.ask(prompt))


def _text_of(answer: Any) -> str:
    """The text of what was returned.

    Raises:
        TypeError: There is none.
    """
    content = getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):  # parts of a message: texts, and thoughts of other types
        return "\n".join(
            part if isinstance(part, str) else part["text"]
            for part in content
            if isinstance(part, str) or (isinstance(part, dict) and "text" in part)
        )
    text = getattr(answer, "text", None)
    if isinstance(text, str):
        return text
    raise TypeError(f"the language model answered a {type(answer).__name__} without a text")


def _kind(llm: Any) -> str:
    return getattr(llm, "__qualname__", None) or type(llm).__name__


def _version(code: CodeType) -> str:
    return f"#{digest(_parts_of(code))[:12]}"


def _parts_of(code: CodeType) -> Iterator[str]:
    """What a function does, without where it stands."""
    yield code.co_code.hex()
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts_of(constant)
        elif isinstance(constant, frozenset):
            yield from sorted(map(repr, constant))
        else:
            yield repr(constant)
