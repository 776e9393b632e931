"""The reduced query embedding."""

from __future__ import annotations

import numpy as np

from rl_rewriter.features.query_embedding import QueryEmbedding
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Query


def evidence(*vector: float) -> Evidence:
    found = np.asarray(vector, dtype=np.float32) if vector else None
    return Evidence(Query("q"), CollectionStatistics(), vector=found)


def test_first_direction_is_the_one_along_which_queries_differ() -> None:
    queries = [evidence(1, 5, 0), evidence(1, -5, 0), evidence(1, 0, 1), evidence(1, 0, -1)]
    fitted = QueryEmbedding.fit(queries, 2)
    assert fitted.columns == ("embedding_0", "embedding_1")
    np.testing.assert_allclose(np.abs(fitted.components), [[0, 1, 0], [0, 0, 1]], atol=1e-6)
    np.testing.assert_allclose(np.abs(fitted.extract([evidence(9, 2, 3)])), [[2, 3]], atol=1e-5)


def test_queries_without_a_vector_are_left_out_and_get_zeros() -> None:
    fitted = QueryEmbedding.fit([evidence(1, 0), evidence(), evidence(0, 1)], 1)
    assert fitted.extract([evidence(), evidence(1, 0)])[0].tolist() == [0.0]
    assert fitted.extract([]).shape == (0, 1)


def test_no_more_directions_than_there_are() -> None:
    fitted = QueryEmbedding.fit([evidence(1, 0, 0), evidence(0, 1, 0)], 10)
    assert len(fitted.columns) == fitted.extract([evidence(1, 2, 3)]).shape[1] <= 3
