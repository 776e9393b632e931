"""What a run will do: each collection with each retriever, where it goes, and what is known."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rl_rewriter.actions.base import Action
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.files import free_name
from rl_rewriter.benchmark.comparison.memory import actions_content, content_of, settings_of
from rl_rewriter.benchmark.extended_actions import ActionSources, llm_actions
from rl_rewriter.benchmark.stores import StoreConfig, chosen_embedder
from rl_rewriter.benchmark.workbench import is_generated, is_named, prepared_collection
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.embedders import model_name
from rl_rewriter.text.digests import digest

_GENERATED = "generated"


@dataclass(frozen=True, kw_only=True)
class BenchmarkRequest:
    """What is to be compared.

    Attributes:
        data: Judged collections, as :func:`~rl_rewriter.benchmark.workbench.open_workbench` names
            them.
        out: The run's folder.
        stores: How each of them is searched; their folders are those of the run.
        config: Settings of the comparison.
        sources: Where further actions come from.
        limit_queries: At most so many queries on each side of a split.
    """

    data: tuple[str, ...]
    out: Path
    stores: tuple[StoreConfig, ...] = (StoreConfig(),)
    config: BenchmarkConfig = field(default_factory=BenchmarkConfig)
    sources: ActionSources = field(default_factory=ActionSources)
    limit_queries: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if not self.data or not self.stores:
            raise InputError("a benchmark needs at least one collection and one retriever")
        if self.out.exists() and not self.out.is_dir():
            raise InputError(f"{self.out} is no folder; give another one")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One collection searched by one retriever.

    Attributes:
        data: The collection, as it was asked for.
        label: What progress is told about.
        store: How it is searched.
        folder: Where its files go.
        key: All that its figures depend on, but for the content of a store of the user's own.
    """

    data: str
    label: str
    store: StoreConfig
    folder: Path
    key: Mapping[str, Any]

    @property
    def may_change(self) -> bool:
        """Whether what is searched is the user's own, which no key can tell before it is opened."""
        return self.store.is_own or self.store.retriever is not None


def plan(request: BenchmarkRequest) -> list[Item]:
    """Look at all data before anything long is begun.

    Raises:
        InputError: There is no such data, or it is malformed.
    """
    settings = {**settings_of(request.config), "sources": _sources_key(request.sources)}
    taken: set[str] = set()
    items: list[Item] = []
    for data in _distinct(request.data):
        collection = (
            None
            if is_generated(data)
            else prepared_collection(
                data, request.stores[0], request.limit_queries, request.sources
            )
        )
        name = data.replace(":", "-") if collection is None else collection.name
        chroma = (
            request.out / "chroma" / free_name(name, {item.store.folder.name for item in items})
        )
        content = _content(data, request) if collection is None else content_of(collection)
        for store in request.stores[: 1 if collection is None else None]:
            own = replace(store, folder=chroma)
            embedder = _embedder(collection, own)
            slug = free_name(f"{name}.{_retriever(embedder, own)}", taken)
            taken.add(slug)
            key = {
                **settings,
                "data": content,
                "base": own.base,
                "embedder": model_name(embedder),
            }
            items.append(Item(data=data, label=slug, store=own, folder=request.out / slug, key=key))
    return items


def _distinct(data: Sequence[str]) -> list[str]:
    """Each collection once, however its path is written."""
    found: dict[str, str] = {}
    for name in data:
        place = name if is_named(name) else os.path.abspath(name)
        found.setdefault(place, name)
    return list(found.values())


def _content(data: str, request: BenchmarkRequest) -> str:
    """Names a generated environment, which its seed and this version determine."""
    return digest([_GENERATED, data, str(request.limit_queries)])


def _embedder(collection: JudgedCollection | None, store: StoreConfig) -> str:
    return _GENERATED if collection is None else chosen_embedder(collection, store)


def _retriever(embedder: str, store: StoreConfig) -> str:
    """The retriever's name, before it is opened."""
    if embedder == _GENERATED:
        return "tfidf"
    if store.retriever is not None:
        return store.retriever.partition(":")[2]
    return embedder if embedder in ("bm25", "tfidf") else store.base


def _live_content(actions: Sequence[Action]) -> str:
    """Digest of actions that weren't asked yet, whose answers follow from what they would ask."""
    asked = [str(getattr(getattr(action, "ask", None), "name", "")) for action in actions]
    return digest([actions_content(actions), *asked])


def _sources_key(sources: ActionSources) -> dict[str, Any]:
    rewrites = sources.rewrites
    return {
        "rewrites": rewrites and actions_content(rewrites.actions()),
        "llm": _live_content(llm_actions(sources.llm)),
        "patterns": sources.patterns,
    }
