"""Embeddings kept on disk by content, so that a text is embedded once and never again."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.protocols import Embedder
from rl_rewriter.types import Matrix

_CHUNK = 500
_EMBED_CHUNK = 256


class CachedEmbedder:
    """Wraps an embedder with an SQLite file of vectors, keyed by model name, role and text.

    Safe for several threads and processes; a killed run loses at most the chunk it was embedding.

    Args:
        embedder: What embeds the texts that aren't known yet.
        path: SQLite file, made where it doesn't exist.
        on_progress: Called with the number of distinct texts newly done, for progress bars.

    Raises:
        InputError: The file is no SQLite database.
    """

    def __init__(
        self, embedder: Embedder, path: Path, on_progress: Callable[[int], None] | None = None
    ) -> None:
        self.name = embedder.name
        self.on_progress = on_progress
        self._embedder = embedder
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        try:
            with closing(self._connect()) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB)"
                )
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} cannot be used as a cache ({error}); delete it") from error

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of documents, ``(n, d)`` float32."""
        return self._embed("document", self._embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of queries, ``(n, d)`` float32."""
        return self._embed("query", self._embedder.embed_queries, texts)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0)

    def _key(self, role: str, text: str) -> bytes:
        content = "\0".join((self.name, role, text)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=20).digest()

    def _embed(
        self, role: str, embed: Callable[[Sequence[str]], Matrix], texts: Sequence[str]
    ) -> Matrix:
        keys = [self._key(role, text) for text in texts]
        with self._lock, closing(self._connect()) as connection:
            known = _read(connection, list(dict.fromkeys(keys)))
            if self.on_progress and known:
                self.on_progress(len(known))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            # Sorting by length keeps the padding of each batch small.
            pending = sorted(missing.items(), key=lambda entry: len(entry[1]))
            for start in range(0, len(pending), _EMBED_CHUNK):
                chunk = pending[start : start + _EMBED_CHUNK]
                vectors = np.asarray(embed([text for _, text in chunk]), dtype=np.float32)
                rows = [(key, row.tobytes()) for (key, _), row in zip(chunk, vectors, strict=True)]
                with connection:
                    connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known.update(rows)
                if self.on_progress:
                    self.on_progress(len(chunk))
        if not keys:
            return np.zeros((0, 0), dtype=np.float32)
        found = [np.frombuffer(known[key], dtype=np.float32) for key in keys]
        if len({len(vector) for vector in found}) > 1:
            raise InputError(
                f"{self._path} holds vectors of several sizes under the name {self.name!r}; give "
                "each model a name of its own, or delete the file"
            )
        return np.stack(found)


def _read(connection: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        found.update(
            connection.execute(f"SELECT key, value FROM vectors WHERE key IN ({marks})", chunk)
        )
    return found
