"""The held-out queries as the page's own table reads them: columns, as small as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_rewriter.benchmark.report.per_query import Column, PerQuery
from rl_rewriter.benchmark.report.run_folder import Collection

_CODED = ("kind", "action", "group")
"""Columns of few different texts."""
_PLAIN = ("query_id", "query", "text")
_DIGITS = 4


def query_data(collections: Sequence[Collection]) -> list[dict[str, Any]]:
    """One object a collection that has queries to show.

    Returns:
        "name", "metric", "n"; "texts": {column: [text]}, where null in "text" stands for the query
        itself; "coded": {column: {"names", "codes"}}; "numbers": {column: [number or null]}.
    """
    return [
        {
            "name": f"{collection.record.name} · {collection.record.retriever}",
            "metric": collection.record.metric,
            **_columns(collection.per_query),
        }
        for collection in collections
        if has_queries(collection)
    ]


def has_queries(collection: Collection) -> bool:
    """Whether there are queries to list: their text, at the least."""
    found = collection.per_query
    return found is not None and found.n > 0 and "query" in found.texts


def _columns(found: PerQuery | None) -> dict[str, Any]:
    if found is None:
        return {"n": 0, "texts": {}, "coded": {}, "numbers": {}}
    texts: dict[str, list[str | None]] = {
        name: list(found.texts[name]) for name in _PLAIN if name in found.texts
    }
    if "text" in texts:
        pairs = zip(found.texts["text"], found.texts["query"], strict=True)
        texts["text"] = [None if sent == query else sent for sent, query in pairs]
    coded = {
        name: _coded(found.texts[name])
        for name in _CODED
        if any(text for text in found.texts.get(name, ()))
    }
    numbers = {name: _numbers(column) for name, column in found.numbers.items()}
    return {"n": found.n, "texts": texts, "coded": coded, "numbers": numbers}


def _coded(texts: list[str]) -> dict[str, Any]:
    names = sorted(set(texts))
    code = {name: number for number, name in enumerate(names)}
    return {"names": names, "codes": [code[text] for text in texts]}


def _numbers(column: Column) -> list[float | int | None]:
    return [
        None if np.isnan(number) else int(number) if number == int(number) else number
        for number in np.round(column, _DIGITS).tolist()
    ]
