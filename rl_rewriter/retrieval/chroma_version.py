"""Tells whether a Chroma collection has changed, by any writer in any way."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from rl_rewriter.retrieval.sqlite_version import file_version, open_files

_DATABASE = "chroma.sqlite3"


class _Database(NamedTuple):
    """The file that a client works on, and which one it was when it was first looked at."""

    path: str
    device: int
    inode: int


_databases: WeakKeyDictionary[Any, _Database] = WeakKeyDictionary()
"""By client, found once: a relative path means another file after a ``chdir``."""


def collection_version(collection: Any) -> Hashable | None:
    """State of a collection; None where nothing tells it.

    A persistent client of this process works on an SQLite file, whose header counts the commits of
    all processes: it changes with every addition, deletion and edit in place (of this collection or
    another one in the same folder). An in-memory client and a server tell nothing: Chroma's API has
    no version or log position there, and the number of documents misses edits.
    """
    client = getattr(collection, "_client", None)
    if type(client).__module__ != "chromadb.api.rust":
        return None
    database = _databases.get(client)
    if database is None:
        path = _database_of(client)
        version = None if path is None else file_version(path)
        if path is None or version is None:
            return None
        database = _databases.setdefault(client, _Database(path, *version[:2]))
    version = file_version(database.path)
    # A file that took the other one's place isn't what the client works on.
    return version if version is not None and version[:2] == database[1:] else None


def folder_version(folder: str | Path) -> Hashable | None:
    """State of all collections in a folder of a persistent Chroma; None where it can't be told.

    For who runs a Chroma server on the same machine:
    ``CacheConfig(collection_version=lambda collection: folder_version("/data/chroma"))``.
    """
    return file_version(os.path.realpath(Path(folder) / _DATABASE))


def count_version(collection: Any) -> int:
    """The number of documents: it misses edits in place, and additions that deletions make up for.

    For collections to which documents are only ever added:
    ``CacheConfig(collection_version=count_version)``.
    """
    return int(collection.count())


def _database_of(client: Any) -> str | None:
    """The file that the client has open; None where it has none, or that isn't sure."""
    try:
        settings = client._system.settings
        if not settings.is_persistent:
            return None
        asked = os.path.normpath(Path(settings.persist_directory) / _DATABASE)
    except AttributeError:
        return None
    if os.path.isabs(asked):
        wanted = os.path.realpath(asked)
        return wanted if wanted in open_files() else None
    found = {path for path in open_files() if path.endswith(f"/{asked}")}
    return found.pop() if len(found) == 1 else None
