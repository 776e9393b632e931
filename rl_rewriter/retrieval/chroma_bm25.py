"""The BM25 index that belongs to a Chroma collection: built from it, kept on disk, kept fresh."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.chroma import read_texts
from rl_rewriter.retrieval.per_collection import PerCollection
from rl_rewriter.text.digests import digest
from rl_rewriter.types import Filters

_logger = logging.getLogger(__name__)

MAX_SHARED = 64
"""Collections whose index is kept open for objects that are yet to be made."""


def default_cache_dir() -> Path:
    """Folder of indexes and embeddings: ``RL_REWRITER_CACHE``, else the user's cache folder."""
    if configured := os.environ.get("RL_REWRITER_CACHE"):
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rl_rewriter"


def index_folder(collection: Any, cache_dir: Path | None = None) -> Path:
    """Where the index of a collection is kept."""
    return (cache_dir or default_cache_dir()) / "bm25" / str(collection.id)


class OpenIndex:
    """An open index and when it was looked at, for all that search the same collection.

    It holds nothing of the collection or its client, so it keeps neither alive.

    Attributes:
        lock: Held while the index is opened or compared.
        index: The index; None before it was needed.
        ids_digest: Of the collection's ids, in their order, as the index was opened.
        checked: When the ids were last compared, in seconds that only grow.
    """

    def __init__(self) -> None:
        self.index: Bm25Index | None = None
        self.ids_digest = ""
        self.checked = 0.0
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self.lock = threading.Lock()


class ChromaBm25:
    """BM25 over the texts of a Chroma collection.

    The index is read from disk when its fingerprint matches the collection's texts, else built and
    written. Every ``refresh_seconds`` the collection's ids are compared with the index's, and
    additions and deletions lead to a rebuild. Texts edited in place under the same id are noticed
    by :meth:`refresh`, which opening and training call.

    Filters are answered by Chroma itself at every call, so they mean here what they mean there.

    Args:
        collection: A ``chromadb`` collection.
        cache_dir: Folder for indexes; None for the user's cache folder.
        refresh_seconds: How long changes may go unnoticed.
        kept: Where the open index is kept; by default for this object alone.

    Attributes:
        kept: That place: the same one, the same index.
    """

    def __init__(
        self,
        collection: Any,
        *,
        cache_dir: Path | None = None,
        refresh_seconds: float = 30.0,
        kept: OpenIndex | None = None,
    ) -> None:
        self._collection = collection
        self._folder = index_folder(collection, cache_dir)
        self._refresh_seconds = refresh_seconds
        self.kept = kept or OpenIndex()

    @classmethod
    def shared(cls, collection: Any) -> ChromaBm25:
        """The index that every object of this process over the same collection shares.

        For the last ``MAX_SHARED`` collections that were asked for, and while their client lives.
        """
        return cls(collection, kept=_shared.of(collection))

    def current_index(self) -> Bm25Index:
        """The index, built or refreshed where that is due."""
        kept, index = self.kept, self.kept.index
        if index is not None and time.monotonic() - kept.checked < self._refresh_seconds:
            return index
        if not kept.lock.acquire(blocking=index is None) and index is not None:
            return index  # another request is looking; this one needn't wait for it
        try:
            if kept.index is None or self._ids_changed(kept.index):
                kept.index = self._reopened()
            kept.checked = time.monotonic()
            return kept.index
        finally:
            kept.lock.release()

    def refresh(self) -> None:
        """Compare all texts with the index and rebuild it where they differ."""
        with self.kept.lock:
            self.kept.index = self._reopened()
            self.kept.checked = time.monotonic()

    def allowed(self, filters: Filters | None, index: Bm25Index) -> npt.NDArray[np.bool_] | None:
        """Which documents of ``index`` the filter lets through, ``(n,)``; None for all of them."""
        if filters is None or not (filters.where or filters.where_document):
            return None
        found = self._collection.get(
            where=dict(filters.where) if filters.where else None,
            where_document=dict(filters.where_document) if filters.where_document else None,
            include=[],
        )
        mask = np.zeros(len(index), dtype=np.bool_)
        rows = index.rows
        mask[[rows[id_] for id_ in found["ids"] if id_ in rows]] = True
        return mask

    def _ids_changed(self, index: Bm25Index) -> bool:
        if self._collection.count() != len(index):
            return True
        return digest(self._collection.get(include=[])["ids"]) != self.kept.ids_digest

    def _reopened(self) -> Bm25Index:
        """The index as of now, with all that the one before had ready for requests."""
        before, index = self.kept.index, self._open()
        if before is not None and before.knows_spelling:
            _ = index.spelling
        return index

    def _open(self) -> Bm25Index:
        documents = list(read_texts(self._collection))
        ids = [id_ for id_, _ in documents]
        self.kept.ids_digest = digest(ids)
        fingerprint = digest(part for document in sorted(documents) for part in document)
        stored = Bm25Index.load(self._folder, fingerprint=fingerprint)
        if stored is not None:
            return stored
        index = Bm25Index(ids, [text for _, text in documents])
        try:
            index.save(self._folder, fingerprint=fingerprint)
        except OSError as error:
            _logger.warning("BM25 index kept in memory only: %s", error)
        return index


_shared: PerCollection[OpenIndex] = PerCollection(OpenIndex, MAX_SHARED)
