"""Rewrites become the vectors they are searched by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.types import Matrix, Rewrite

VECTORS = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [4.0, 4.0]}


def test_mixes_by_hand_each_distinct_text_embedded_once() -> None:
    calls: list[list[str]] = []

    def embed(texts: Sequence[str]) -> Matrix:
        calls.append(list(texts))
        return np.asarray([VECTORS[text] for text in texts], dtype=np.float32)

    own = np.asarray([9, 9], dtype=np.float32)
    rewrites = [
        Rewrite(("a",)),
        Rewrite(("a", "b"), (0.75, 0.25)),
        Rewrite(("c", "a", "b"), (0.5, 0.25, 0.25)),
        Rewrite(("never embedded",), vector=own),
        Rewrite(("b", "b"), (0.5, 0.5)),
    ]
    vectors = resolve_vectors(rewrites, embed)
    expected = [[1.0, 0.0], [0.75, 0.5], [2.25, 2.5], [9.0, 9.0], [0.0, 2.0]]
    np.testing.assert_allclose(np.stack(vectors), expected)
    assert calls == [["a", "b", "c"]]
    assert all(vector.dtype == np.float32 for vector in vectors)


def test_nothing_is_embedded_for_vectors_alone() -> None:
    def embed(texts: Sequence[str]) -> Matrix:
        raise AssertionError("no text to embed")

    own = np.ones(2, dtype=np.float32)
    assert resolve_vectors([Rewrite(("q",), vector=own)], embed)[0] is own
    assert resolve_vectors([], embed) == []
