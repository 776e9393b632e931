"""Leaves out logged queries whose filters the collection refuses: one of them would stop a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rl_rewriter.errors import CollectionError
from rl_rewriter.logs.shown import ShownLists
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.types import Filters, Query, Rewrite


def searchable(shown: ShownLists, retriever: Retriever) -> tuple[ShownLists, int]:
    """The lists of queries that can be searched again, and how many filters were refused.

    Every distinct filter is tried by one search; decisions under a refused one count as unknown.

    Args:
        shown: What decisions asked and showed.
        retriever: What is searched.
    """
    by_filter: dict[Filters, Query] = {}
    for query in shown.queries:
        if query.filters is not None:
            by_filter.setdefault(query.filters, query)
    refused = {of for of, query in by_filter.items() if not _is_searched(query, retriever)}
    if not refused:
        return shown, 0
    lost = [number for number, query in enumerate(shown.queries) if query.filters in refused]
    rows = np.where(np.isin(shown.rows, lost), -1, shown.rows)
    return replace(shown, rows=rows), len(refused)


def _is_searched(query: Query, retriever: Retriever) -> bool:
    try:
        retriever.search([Rewrite.keep(query)], k=1, filters=[query.filters])
    except CollectionError:
        return False
    return True
