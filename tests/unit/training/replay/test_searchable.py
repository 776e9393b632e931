"""A filter that the collection refuses costs its own decisions and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rl_rewriter.logs.shown import LISTED, ShownLists
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.training.replay.searchable import searchable
from rl_rewriter.types import Filters, Query
from tests.support import TokenEmbedder, chroma_collection


def retriever_in(folder: Path) -> Retriever:
    embedder = TokenEmbedder(8)
    collection = chroma_collection({"a": "one two", "b": "three four"}, embedder)
    return chroma_retriever(collection, embedder, cache_dir=folder)


def shown(*filters: Filters | None) -> ShownLists:
    queries = tuple(Query("one", filters=of, id=f"q{row}") for row, of in enumerate(filters))
    rows = np.arange(len(filters)).repeat(2)
    return ShownLists(queries, rows, ("a",), np.zeros((len(rows), LISTED), dtype=np.int32))


def test_decisions_under_a_refused_filter_count_as_unknown(tmp_path: Path) -> None:
    bad = Filters(where={"$bogus": 1})
    found, n_refused = searchable(
        shown(None, bad, Filters(where={"tenant": "x"}), bad), retriever_in(tmp_path)
    )
    assert n_refused == 1
    assert found.rows.tolist() == [0, 0, -1, -1, 2, 2, -1, -1]


def test_where_none_is_refused_nothing_changes(tmp_path: Path) -> None:
    given = shown(None, Filters(where={"tenant": "x"}))
    found, n_refused = searchable(given, retriever_in(tmp_path))
    assert (found, n_refused) == (given, 0)
