"""Is a question embedded once, and never by another model's vector?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.caching.store import ServingCache
from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.retrieval.cached import MAX_AT_ONCE
from rl_rewriter.retrieval.embedders import FunctionEmbedder, as_embedder
from rl_rewriter.retrieval.over_chroma import serving_retriever
from rl_rewriter.retrieval.serving_embedder import ServingEmbedder, embedding_scope
from rl_rewriter.retrieval.vector_sizes import vector_size
from rl_rewriter.types import Rewrite
from tests.support import DOCUMENTS, TokenEmbedder, add_documents, chroma_collection


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


@pytest.mark.parametrize("size", [32, None])
@pytest.mark.parametrize("before", [["a"], []])
def test_a_vector_of_the_wrong_size_is_made_anew(size: int | None, before: list[str]) -> None:
    """Also the very first one, of which nobody can say yet that it is wrong."""
    model, cache = Named(), ServingCache()
    embedder = ServingEmbedder(model, cache, size=lambda: size)
    embedder.embed_queries(before)
    model.dimensions = 8
    assert embedder.embed_queries(["b"]).shape == (1, 8)
    model.dimensions = 32
    for text in ("c", "b", "a"):
        assert embedder.embed_queries([text]).shape == (1, 32)
    np.testing.assert_array_equal(embedder.embed_queries(["b"])[0], model.vector("b"))


@given(asked=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([8, 32])), max_size=12))
def test_what_is_kept_has_the_size_of_the_collection(asked: list[tuple[str, int]]) -> None:
    model, cache = Named(), ServingCache()
    embedder = ServingEmbedder(model, cache, size=lambda: 32)
    for text, size in asked:
        model.dimensions = size
        model.embedded.clear()
        found = embedder.embed_queries([text])
        assert found.shape == (1, size if model.embedded else 32)
    assert {len(vector) for _, vector in cache.items()} <= {32}


def test_a_search_that_a_wrong_vector_made_fail_succeeds_the_next_time(tmp_path: Path) -> None:
    model = Named()
    retriever = serving_retriever(
        chroma_collection(), model, cache=ServingCache(), cache_dir=tmp_path
    )
    model.dimensions = 8
    with pytest.raises(CollectionError):
        retriever.search([Rewrite(("refund",))], k=2)
    model.dimensions = 32
    assert len(retriever.search([Rewrite(("refund",))], k=2)[0]) == 2


def test_the_size_of_a_collection_is_known_once_it_holds_anything() -> None:
    collection = chroma_collection({})
    size = partial(vector_size, collection)
    assert size() is None
    add_documents(collection, DOCUMENTS)
    assert size() == 32
    collection.delete(ids=list(DOCUMENTS))
    assert size() == 32
    assert vector_size(None) is None


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
