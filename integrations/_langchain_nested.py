"""Whether a wrapped runnable searches part of its collection only, as far as that can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable

from rl_rewriter.integrations._langchain_routes import restricts

_NESTING = 4
_NESTED_ITEMS = 32
_RESTRICTIONS = ("filter", "filters", "where", "namespace")
"""Names under which retrievers keep what restricts their search."""


def is_restricted(runnable: Any, configurable: Mapping[str, Any] | None = None) -> bool:
    """Whether this runnable, or a retriever that it holds, may have a filter of its own.

    Args:
        runnable: What is wrapped.
        configurable: What the caller's config sets; a part that can be configured so counts.
    """
    return any(
        _has_filter(part) or (configurable and isinstance(part, DynamicRunnable))
        for part in _parts(runnable)
    )


def _has_filter(part: Any) -> bool:
    if isinstance(part, RunnableBindingBase):
        inside = (isinstance(held, BaseRetriever) for held in _parts(part.bound))
        return restricts(part.kwargs) and any(inside)
    if not isinstance(part, BaseRetriever):
        return False
    settings = getattr(part, "search_kwargs", None) or {}
    return restricts(settings) or any(getattr(part, name, None) for name in _RESTRICTIONS)


def _parts(runnable: Any, depth: int = _NESTING) -> Iterator[Any]:
    """A runnable and those that it holds."""
    yield runnable
    for value in list(vars(runnable).values()) if depth else ():
        held = value.values() if isinstance(value, dict) else value
        parts = held if isinstance(value, dict | list | tuple) else (value,)
        for part in islice(parts, _NESTED_ITEMS):
            if isinstance(part, Runnable):
                yield from _parts(part, depth - 1)
