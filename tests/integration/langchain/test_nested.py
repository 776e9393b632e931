"""A filter is seen wherever a retriever keeps it within another runnable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnableParallel

from rl_rewriter.integrations._langchain_nested import is_restricted
from tests.integration.langchain.parts import Echo

FILTER = {"filter": {"tenant": "a"}}


class Around(Echo):
    """A retriever that holds others."""

    inner: Any


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda base: base,
    "retry": lambda base: base.with_retry(),
    "fallbacks": lambda base: Echo().with_fallbacks([base]),
    "sequence": lambda base: base | RunnableLambda(list),
    "parallel": lambda base: RunnableParallel(found=base),
    "config": lambda base: base.with_config({"tags": ["x"]}),
    "listeners": lambda base: base.with_listeners(on_end=print),
    "configurable": lambda base: base.configurable_fields(tags=ConfigurableField(id="t")),
    "retriever": lambda base: Around(inner=base),
    "list": lambda base: Around(inner=[Echo(), base]),
    "dict": lambda base: Around(inner={"first": Around(inner=base)}),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=list(WRAPPERS))
def test_filters_of_retrievers_inside(store: Any, wrap: Callable[[Any], Any]) -> None:
    assert is_restricted(wrap(store.as_retriever(search_kwargs={"k": 3, **FILTER})))
    assert not is_restricted(wrap(store.as_retriever(search_kwargs={"k": 3})))


@pytest.mark.parametrize("name", sorted(WRAPPERS.keys() - {"configurable"}))
def test_bound_filters(store: Any, name: str) -> None:
    wrap = WRAPPERS[name]
    assert is_restricted(wrap(store.as_retriever().bind(**FILTER).with_config({"tags": ["x"]})))
    assert not is_restricted(wrap(store.as_retriever().bind(k=2)))


def test_what_is_bound_to_anything_else_restricts_no_search(store: Any) -> None:
    other: Any = RunnableLambda(str).bind(stop=["x"])
    assert not is_restricted(other | store.as_retriever())


def test_what_a_caller_can_configure_may_be_a_filter(store: Any) -> None:
    base = store.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search"))
    chain = base | RunnableLambda(list)
    assert is_restricted(chain, {"search": FILTER})
    assert not is_restricted(chain, {})
    assert not is_restricted(store.as_retriever() | RunnableLambda(list), {"thread_id": "1"})
