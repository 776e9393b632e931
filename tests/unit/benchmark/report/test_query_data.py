"""The queries as the page's script reads them."""

from __future__ import annotations

import numpy as np

from rl_rewriter.benchmark.report.per_query import PerQuery
from rl_rewriter.benchmark.report.query_data import has_queries, query_data
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.benchmark.report.run_folder import Collection

RECORD = Record(name="shop", retriever="chroma", facts={"metric": "mrr@10"})


def test_columns_are_as_small_as_they_can_be() -> None:
    found = PerQuery(
        texts={
            "query_id": ["q1", "q2", "q3"],
            "query": ["a", "b", "c"],
            "text": ["a", "B", "c"],
            "action": ["move", "keep", "move"],
            "kind": ["", "", ""],
        },
        numbers={"keep": np.array([0.123456, 1.0, np.nan])},
        n=3,
    )
    assert query_data([Collection(RECORD, found)]) == [
        {
            "name": "shop · chroma",
            "metric": "mrr@10",
            "n": 3,
            "texts": {
                "query_id": ["q1", "q2", "q3"],
                "query": ["a", "b", "c"],
                "text": [None, "B", None],
            },
            "coded": {"action": {"names": ["keep", "move"], "codes": [1, 0, 1]}},
            "numbers": {"keep": [0.1235, 1, None]},
        }
    ]


def test_collections_without_queries_are_left_out() -> None:
    no_text = PerQuery({"kind": ["a"], "text": ["b"]}, {"keep": np.array([0.5])}, 1)
    empty = PerQuery({"query": []}, {}, 0)
    for found in (None, no_text, empty):
        assert not has_queries(Collection(RECORD, found))
    assert query_data([Collection(RECORD), Collection(RECORD, no_text)]) == []
