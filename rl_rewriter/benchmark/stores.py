"""Opens the retriever over a collection: embedded Chroma, the user's own, or in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.embedded_chroma import chromadb_module, embedded_collection
from rl_rewriter.benchmark.own_objects import load_retriever
from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir
from rl_rewriter.retrieval.embedders import LazyModel
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import CollectionRetriever, Embedder
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.text.tokens import cjk_share
from rl_rewriter.types import OnProgress

BASES = ("chroma", "bm25", "tfidf", "hybrid")
DEFAULT_EMBEDDER = "minilm"
_DATABASE = "chroma.sqlite3"
"""What every folder of a persistent Chroma holds."""
HYBRID_WEIGHT = 0.3
"""BM25's share where hybrid search is the base that "keep" leaves alone."""


@dataclass(frozen=True, kw_only=True)
class StoreConfig:
    """Where documents are searched.

    Attributes:
        base: "chroma", "bm25", "tfidf" or "hybrid" (Chroma fused with BM25).
        embedder: Name or path of a sentence-transformers model, "minilm", or "tfidf", which needs
            no model and makes TF-IDF the base. None takes "minilm" for English and "tfidf" for
            Chinese documents, which that model cannot read.
        folder: Where an embedded Chroma collection is built.
        chroma_path: Folder of the user's own persistent Chroma.
        chroma_host: "host:port" of the user's own Chroma server.
        collection: Name of the user's own collection.
        retriever: "MODULE:OBJECT" of a retriever of the user's own over the same documents, which
            is searched instead of the base.
        cache_dir: Where embeddings and indexes are kept; the user's cache folder by default.
    """

    base: str = "chroma"
    embedder: str | None = None
    folder: Path = Path("runs/chroma")
    chroma_path: Path | None = None
    chroma_host: str | None = None
    collection: str | None = None
    retriever: str | None = None
    cache_dir: Path | None = None

    def __post_init__(self) -> None:
        """Refuse combinations that mean nothing."""
        if self.base not in BASES:
            raise InputError(f"unknown base retriever {self.base!r}; use one of {', '.join(BASES)}")
        if self.is_own and not self.collection:
            raise InputError("name the collection of your Chroma with --collection NAME")
        if self.collection and not self.is_own:
            raise InputError(
                f"say where the collection {self.collection!r} is, with --chroma-path FOLDER or "
                "--chroma-host HOST:PORT"
            )
        if self.is_own and self.embedder == "tfidf":
            raise InputError(
                "a Chroma collection holds vectors that TF-IDF cannot make; give the --embedder "
                "that its documents were added with"
            )
        if self.is_own and self.base in ("bm25", "tfidf"):
            raise InputError(
                f"--base {self.base} searches documents in memory; your own Chroma is searched by "
                "--base chroma or hybrid"
            )

    @property
    def is_own(self) -> bool:
        """Whether the documents are in a Chroma of the user's own."""
        return self.chroma_path is not None or self.chroma_host is not None


def open_retriever(
    collection: JudgedCollection, store: StoreConfig, on_progress: OnProgress | None = None
) -> CollectionRetriever:
    """The retriever over a collection's documents, built where it isn't there yet.

    Raises:
        MissingExtraError: A package that the store needs isn't installed.
        CollectionError: The user's own collection doesn't exist or is empty.
    """
    documents = collection.documents
    if store.retriever is not None:
        return load_retriever(store.retriever, documents)
    embedder_name = chosen_embedder(collection, store)
    if embedder_name == "bm25":
        return Bm25Retriever(documents)
    if embedder_name == "tfidf":
        return HybridRetriever(TfidfRetriever(documents), Bm25Retriever(documents))
    chromadb_module()  # before a model is loaded for nothing
    cache = store.cache_dir or default_cache_dir()
    done = 0

    def count(newly: int) -> None:
        nonlocal done
        done += newly
        if on_progress is not None and done <= len(documents):
            on_progress("embedding documents", done, len(documents))

    model = LazyModel(embedder_name)
    embedder = CachedEmbedder(model, cache / "embeddings.sqlite", count)
    chroma = (
        own_collection(store)
        if store.is_own
        else embedded_collection(collection, store.folder, embedder, cache_dir=store.cache_dir)
    )
    return _over(chroma, embedder, store)


def open_own_retriever(store: StoreConfig) -> CollectionRetriever:
    """The retriever over a Chroma collection of the user's own.

    Raises:
        CollectionError: The server or the collection isn't there, or it is empty.
    """
    cache = store.cache_dir or default_cache_dir()
    model = LazyModel(store.embedder or DEFAULT_EMBEDDER)
    return _over(own_collection(store), CachedEmbedder(model, cache / "embeddings.sqlite"), store)


def _over(chroma: Any, embedder: Embedder, store: StoreConfig) -> CollectionRetriever:
    return chroma_retriever(
        chroma,
        embedder,
        cache_dir=store.cache_dir or default_cache_dir(),
        default_weight=HYBRID_WEIGHT if store.base == "hybrid" else 0.0,
    )


def chosen_embedder(collection: JudgedCollection, store: StoreConfig) -> str:
    """Name of what represents texts: an embedding model, "tfidf", "bm25", or the user's own."""
    if store.retriever is not None:
        return store.retriever
    if store.base in ("bm25", "tfidf"):
        return store.base
    if store.embedder is not None:
        return store.embedder
    sample = "".join(
        text for text, _ in zip(collection.documents.values(), range(50), strict=False)
    )
    return "tfidf" if cjk_share(sample) > 0.3 and not store.is_own else DEFAULT_EMBEDDER


def own_collection(store: StoreConfig) -> Any:
    """Open the user's own Chroma collection.

    Raises:
        CollectionError: The server or the collection isn't there, or it is empty.
    """
    chromadb = chromadb_module()
    folder = store.chroma_path
    if store.chroma_host is None and folder is not None and not (folder / _DATABASE).is_file():
        raise CollectionError(  # opening it would make one
            f"there is no collection {store.collection!r} to open at {folder}: the folder of a "
            f"persistent Chroma would hold {_DATABASE}"
        )
    try:
        if store.chroma_host is not None:
            host, port = _address(store.chroma_host)
            client = chromadb.HttpClient(host=host, port=port)
        else:
            client = chromadb.PersistentClient(str(store.chroma_path))
        # Without a function of our own choosing Chroma would load, or download, one of its own.
        found = client.get_collection(store.collection, embedding_function=None)
    except InputError:
        raise
    except Exception as error:
        where = store.chroma_host or store.chroma_path
        raise CollectionError(
            f"there is no collection {store.collection!r} to open at {where}: {error}"
        ) from error
    if not found.count():
        raise CollectionError(f"collection {store.collection!r} is empty; add documents first")
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    if not host or not (port or "8000").isdecimal():
        raise InputError(f'a Chroma server is named like "localhost:8000", got {text!r}')
    return host, int(port or 8000)
