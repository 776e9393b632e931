"""Is a question embedded once, and never by another model's vector?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rl_rewriter.caching.store import ServingCache
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.cached import MAX_AT_ONCE
from rl_rewriter.retrieval.embedders import FunctionEmbedder, as_embedder
from rl_rewriter.retrieval.serving_embedder import ServingEmbedder, embedding_scope
from tests.support import TokenEmbedder


class Named(TokenEmbedder):
    def __init__(self, model: str = "tokens-1", **settings: Any) -> None:
        super().__init__(**settings)
        self.model = model


def test_each_text_is_embedded_once() -> None:
    model = Named()
    embedder = ServingEmbedder(model, ServingCache())
    first = embedder.embed_queries(["a", "b", "a"])
    again = embedder.embed_queries(["c", "b"])
    assert model.embedded == ["a", "b", "c"]
    np.testing.assert_array_equal(first[1], again[1])
    np.testing.assert_array_equal(first, as_embedder(model).embed_queries(["a", "b", "a"]))
    assert first.dtype == np.float32
    assert embedder.name == as_embedder(model).name
    assert embedder.embed_queries([]).shape == (0, 0)
    assert embedder.embed_documents(["a"]).shape == (1, 32)


def test_callers_may_change_what_they_get() -> None:
    embedder = ServingEmbedder(Named(), ServingCache())
    for _ in range(3):
        vectors = embedder.embed_queries(["a"])
        assert np.isclose(np.linalg.norm(vectors), 1.0)
        vectors[:] = 0.0


def test_a_model_that_tells_no_name_is_asked_each_time() -> None:
    for source in (TokenEmbedder(), lambda texts: [[1.0]] * len(texts)):
        assert embedding_scope(source) is None
    unnamed, cache = TokenEmbedder(), ServingCache()
    embedder = ServingEmbedder(unnamed, cache)
    for _ in range(2):
        embedder.embed_queries(["a"])
    assert unnamed.embedded == ["a", "a"]
    assert cache.stats().entries == 0
    assert embedding_scope(Named("unknown")) is None


def test_two_models_never_share_whatever_they_are_called() -> None:
    cache = ServingCache()
    one, other = Named(), Named(scale=2.0)
    vectors = [ServingEmbedder(model, cache).embed_queries(["a"]) for model in (one, other)]
    np.testing.assert_allclose(2.0 * vectors[0], vectors[1], rtol=1e-5)


def test_retrievers_over_one_model_share() -> None:
    model, cache = Named(), ServingCache()
    for _ in range(2):
        ServingEmbedder(model, cache).embed_queries(["a"])
    assert model.embedded == ["a"]


def test_a_model_that_is_changed_in_place_is_another_one() -> None:
    model = Named()
    embedder = ServingEmbedder(model, ServingCache())
    before = embedder.embed_queries(["a"])
    model.model, model.scale = "tokens-2", 3.0
    np.testing.assert_allclose(embedder.embed_queries(["a"]), 3.0 * before, rtol=1e-5)


def test_a_model_whose_size_changes_under_one_name_fails_nothing() -> None:
    model = Named()
    embedder = ServingEmbedder(model, ServingCache())
    embedder.embed_queries(["a"])
    model.dimensions = 8
    assert embedder.embed_queries(["a", "b"]).shape == (2, 8)


def test_an_error_is_not_kept() -> None:
    answers: list[Any] = [[[float("nan")]], [[1.0]]]
    embedder = ServingEmbedder(
        FunctionEmbedder("m", lambda texts: [], lambda texts: answers.pop(0)), ServingCache()
    )
    with pytest.raises(InputError, match="NaN"):
        embedder.embed_queries(["a"])
    assert embedder.embed_queries(["a"]).tolist() == [[1.0]]
    assert embedder.embed_queries(["a"]).tolist() == [[1.0]]


def test_large_batches_are_not_kept() -> None:
    cache = ServingCache()
    ServingEmbedder(Named(), cache).embed_queries([str(n) for n in range(MAX_AT_ONCE + 1)])
    assert cache.stats().entries == 0
