"""The embedded Chroma collection of a run's folder: built once, used again while it is the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.folder_lock import hold
from rl_rewriter.errors import CollectionError, MissingExtraError
from rl_rewriter.retrieval.chroma_bm25 import index_folder
from rl_rewriter.retrieval.protocols import Embedder
from rl_rewriter.text.digests import digest

_MARK = "made_by_rl_rewriter"
_CONTENT = "content"
"""Metadata that tells ids, texts and embedder, set when all documents are in."""


def embedded_collection(
    collection: JudgedCollection, folder: Path, embedder: Embedder, *, cache_dir: Path | None = None
) -> Any:
    """The Chroma collection of these documents, as it stands in a folder or built anew there.

    The folder is held until this process ends: others may search in it, but nobody may build.

    Args:
        collection: Whose documents.
        folder: Folder of the persistent Chroma.
        embedder: What embeds them.
        cache_dir: Where BM25 indexes of Chroma collections are kept.

    Raises:
        CollectionError: Another command uses the folder, or a collection of someone else's has the
            name.
        MissingExtraError: chromadb isn't installed.
    """
    chromadb = chromadb_module()
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(collection.name)
    content = digest(
        [embedder.name, *(part for item in collection.documents.items() for part in item)]
    )
    is_alone = hold(folder, alone=True)
    if not is_alone and not hold(folder, alone=False):
        raise CollectionError(
            f"another command is building a collection in {folder}; wait until it is done, or give "
            "another folder"
        )
    client = chromadb.PersistentClient(str(folder))
    known = {found.name for found in client.list_collections()}
    found = client.get_collection(name, embedding_function=None) if name in known else None
    if found is None or not _is_whole(found, content, len(collection.documents)):
        if not is_alone:
            raise CollectionError(
                f"another command searches in {folder}, where other documents would have to be put "
                "now; wait until it is done, or give another folder"
            )
        if found is not None:
            _forget(client, found, folder, cache_dir)
        found = _built(client, name, collection, embedder, content)
    hold(folder, alone=False)
    return found


def chromadb_module() -> Any:
    """Chroma, imported where it is needed.

    Raises:
        MissingExtraError: It isn't installed.
    """
    try:
        import chromadb
    except ImportError as error:
        raise MissingExtraError("chromadb", "chroma") from error
    return chromadb


def _name(name: str) -> str:
    safe = "".join(c if c.isascii() and c.isalnum() else "-" for c in name).strip("-")
    return f"docs-{safe or 'collection'}"[:200].rstrip("-")


def _is_whole(found: Any, content: str, n_documents: int) -> bool:
    return (found.metadata or {}).get(_CONTENT) == content and found.count() == n_documents


def _built(
    client: Any, name: str, collection: JudgedCollection, embedder: Embedder, content: str
) -> Any:
    from chromadb.utils.batch_utils import create_batches

    ids, texts = list(collection.documents), list(collection.documents.values())
    vectors = embedder.embed_documents(texts)
    made = client.create_collection(
        name,
        configuration={"hnsw": {"space": "cosine"}},
        embedding_function=None,
        metadata={_MARK: True},
    )
    for batch in create_batches(client, ids=ids, embeddings=vectors.tolist(), documents=texts):
        made.add(ids=batch[0], embeddings=batch[1], metadatas=batch[2], documents=batch[3])
    made.modify(metadata={_MARK: True, _CONTENT: content})
    return made


def _forget(client: Any, found: Any, folder: Path, cache_dir: Path | None) -> None:
    """Delete a collection that we made, with its BM25 index."""
    if _MARK not in (found.metadata or {}):
        raise CollectionError(
            f"{folder} holds a collection {found.name!r} of someone else's; give another folder"
        )
    client.delete_collection(found.name)
    shutil.rmtree(index_folder(found, cache_dir), ignore_errors=True)
