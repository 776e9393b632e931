"""Opens the retriever over a collection: embedded Chroma, the user's own, or in memory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collection import JudgedCollection
from rl_rewriter.errors import CollectionError, InputError, MissingExtraError
from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir, index_folder
from rl_rewriter.retrieval.embedders import load_embedder
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import CollectionRetriever, Embedder
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.text.tokens import cjk_share
from rl_rewriter.types import OnProgress

_MARK = "made_by_rl_rewriter"
BASES = ("chroma", "bm25", "tfidf", "hybrid")
DEFAULT_EMBEDDER = "minilm"
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
        cache_dir: Where embeddings and indexes are kept; the user's cache folder by default.
    """

    base: str = "chroma"
    embedder: str | None = None
    folder: Path = Path("runs/chroma")
    chroma_path: Path | None = None
    chroma_host: str | None = None
    collection: str | None = None
    cache_dir: Path | None = None

    def __post_init__(self) -> None:
        """Refuse combinations that mean nothing."""
        if self.base not in BASES:
            raise InputError(f"unknown base retriever {self.base!r}; use one of {', '.join(BASES)}")
        if self.is_own and not self.collection:
            raise InputError("name the collection of your Chroma with --collection NAME")
        if self.is_own and self.embedder == "tfidf":
            raise InputError(
                "a Chroma collection holds vectors that TF-IDF cannot make; give the --embedder "
                "that its documents were added with"
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
    embedder_name = chosen_embedder(collection, store)
    if embedder_name == "bm25":
        return Bm25Retriever(documents)
    if embedder_name == "tfidf":
        return HybridRetriever(TfidfRetriever(documents), Bm25Retriever(documents))
    _chromadb()  # before a model is loaded for nothing
    cache = store.cache_dir or default_cache_dir()
    done = 0

    def count(newly: int) -> None:
        nonlocal done
        done += newly
        if on_progress is not None and done <= len(documents):
            on_progress("embedding documents", done, len(documents))

    embedder = CachedEmbedder(load_embedder(embedder_name), cache / "embeddings.sqlite", count)
    chroma = own_collection(store) if store.is_own else _build(collection, store, embedder)
    return _over(chroma, embedder, store)


def open_own_retriever(store: StoreConfig) -> CollectionRetriever:
    """The retriever over a Chroma collection of the user's own.

    Raises:
        CollectionError: The server or the collection isn't there, or it is empty.
    """
    cache = store.cache_dir or default_cache_dir()
    model = load_embedder(store.embedder or DEFAULT_EMBEDDER)
    return _over(own_collection(store), CachedEmbedder(model, cache / "embeddings.sqlite"), store)


def _over(chroma: Any, embedder: Embedder, store: StoreConfig) -> CollectionRetriever:
    return chroma_retriever(
        chroma,
        embedder,
        cache_dir=store.cache_dir or default_cache_dir(),
        default_weight=HYBRID_WEIGHT if store.base == "hybrid" else 0.0,
    )


def chosen_embedder(collection: JudgedCollection, store: StoreConfig) -> str:
    """Name of what represents texts: an embedding model, "tfidf" or "bm25"."""
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
    chromadb = _chromadb()
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


def _build(collection: JudgedCollection, store: StoreConfig, embedder: Embedder) -> Any:
    """An embedded collection in the run's folder, made anew: documents may have changed."""
    chromadb = _chromadb()
    from chromadb.utils.batch_utils import create_batches

    store.folder.mkdir(parents=True, exist_ok=True)
    client = chromadb.PersistentClient(str(store.folder))
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in collection.name).strip("-")
    name = f"docs-{name or 'collection'}"[:200]
    if name in {found.name for found in client.list_collections()}:
        _forget(client, name, store)
    made = client.create_collection(
        name,
        configuration={"hnsw": {"space": "cosine"}},
        embedding_function=None,
        metadata={_MARK: True},
    )
    ids, texts = list(collection.documents), list(collection.documents.values())
    vectors = embedder.embed_documents(texts)
    for batch in create_batches(client, ids=ids, embeddings=vectors.tolist(), documents=texts):
        made.add(ids=batch[0], embeddings=batch[1], metadatas=batch[2], documents=batch[3])
    return made


def _forget(client: Any, name: str, store: StoreConfig) -> None:
    """Delete a collection that we made, with its BM25 index."""
    old = client.get_collection(name, embedding_function=None)
    if _MARK not in (old.metadata or {}):
        raise CollectionError(
            f"{store.folder} holds a collection {name!r} of someone else's; give another folder"
        )
    client.delete_collection(name)
    shutil.rmtree(index_folder(old, store.cache_dir), ignore_errors=True)


def _chromadb() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise MissingExtraError("chromadb", "chroma") from error
    return chromadb
