"""Does every write change what a collection says of its state, and nothing else?"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import pytest

from rl_rewriter.retrieval import sqlite_version
from rl_rewriter.retrieval.chroma_version import (
    collection_version,
    count_version,
    folder_version,
)
from tests.support import DOCUMENTS, TokenEmbedder, add_documents, chroma_collection

VECTORS = TokenEmbedder()
WRITES: dict[str, Callable[[Any], object]] = {
    "add": lambda c: add_documents(c, {"new": "A new document."}),
    "delete": lambda c: c.delete(ids=["refund"]),
    "delete by filter": lambda c: c.delete(where={"n": 1}),
    "edit a text": lambda c: c.update(
        ids=["refund"], documents=["edited"], embeddings=[VECTORS.vector("edited").tolist()]
    ),
    "edit metadata": lambda c: c.update(ids=["refund"], metadatas=[{"n": 7}]),
    "edit a vector": lambda c: c.update(
        ids=["refund"], embeddings=[VECTORS.vector("moved").tolist()]
    ),
    "upsert": lambda c: c.upsert(
        ids=["refund"], documents=["put"], embeddings=[VECTORS.vector("put").tolist()]
    ),
    "modify": lambda c: c.modify(metadata={"edition": 2}),
}
READS: dict[str, Callable[[Any], object]] = {
    "count": lambda c: c.count(),
    "get": lambda c: c.get(ids=["refund"]),
    "query": lambda c: c.query(query_embeddings=[VECTORS.vector("card")], n_results=3),
    "filtered query": lambda c: c.query(
        query_embeddings=[VECTORS.vector("card")], n_results=3, where={"n": {"$gt": 1}}
    ),
}
OTHER_PROCESS = """
import sys, chromadb
collection = chromadb.PersistentClient(sys.argv[1]).get_collection(
    sys.argv[2], embedding_function=None
)
collection.update(ids=["refund"], metadatas=[{"n": 8}])
"""

needs_local_files = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere nothing tells what a file system is"
)
pytestmark = needs_local_files


@pytest.fixture
def persistent(tmp_path: Path) -> Any:
    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    numbers = [{"n": n} for n in range(len(DOCUMENTS))]
    return chroma_collection(client=client, metadatas=numbers)


@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_told(persistent: Any, write: str) -> None:
    before = collection_version(persistent)
    assert before is not None
    WRITES[write](persistent)
    after = collection_version(persistent)
    assert after not in (None, before)


def test_reading_changes_nothing(persistent: Any) -> None:
    before = collection_version(persistent)
    for read in READS.values():
        read(persistent)
        assert collection_version(persistent) == before


def test_many_edits_are_as_many_states(persistent: Any) -> None:
    """However quickly they follow one another: it is a count, not a time."""
    states = {collection_version(persistent)}
    for n in range(30):
        persistent.update(ids=["refund"], metadatas=[{"n": n}])
        states.add(collection_version(persistent))
    assert len(states) == 31


def test_another_clients_and_another_processes_writes_are_told(
    persistent: Any, tmp_path: Path
) -> None:
    folder = str(tmp_path / "chroma")
    before = collection_version(persistent)
    second = chromadb.PersistentClient(folder).get_collection(persistent.name)
    second.update(ids=["refund"], metadatas=[{"n": 9}])
    between = collection_version(persistent)
    assert between not in (None, before)
    command = [sys.executable, "-c", OTHER_PROCESS, folder, persistent.name]
    subprocess.run(command, check=True, timeout=120)
    assert collection_version(persistent) not in (None, before, between)
    assert folder_version(folder) == collection_version(persistent)


def test_collections_in_memory_and_behind_a_server_tell_nothing(chroma_http: Any) -> None:
    assert collection_version(chroma_collection()) is None
    assert collection_version(chroma_collection(client=chroma_http)) is None
    assert collection_version(object()) is None


def test_a_count_misses_edits(chroma_http: Any) -> None:
    collection = chroma_collection(client=chroma_http)
    before = count_version(collection)
    WRITES["edit a text"](collection)
    assert count_version(collection) == before
    WRITES["add"](collection)
    assert count_version(collection) == before + 1


def test_a_relative_path_means_the_file_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    collection = chroma_collection(client=chromadb.PersistentClient("./relative"))
    shutil.copytree("relative", tmp_path / "there" / "relative")
    monkeypatch.chdir(tmp_path / "there")
    before = collection_version(collection)
    assert before == folder_version(tmp_path / "here" / "relative")
    collection.update(ids=["refund"], metadatas=[{"n": 1}])
    assert collection_version(collection) not in (None, before)


def test_a_file_in_the_place_of_the_open_one_says_nothing(persistent: Any, tmp_path: Path) -> None:
    assert collection_version(persistent) is not None
    file = tmp_path / "chroma" / "chroma.sqlite3"
    shutil.copy(file, tmp_path / "copy")
    (tmp_path / "copy").replace(file)
    assert collection_version(persistent) is None
    file.unlink()
    assert collection_version(persistent) is None


def test_a_write_ahead_log_says_nothing(tmp_path: Path) -> None:
    """There commits go to another file first."""
    file = tmp_path / "chroma.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
        assert folder_version(tmp_path) is not None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        assert folder_version(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"\0" * 4096, os.urandom(4096)])
def test_what_is_no_database_says_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(content)
    assert folder_version(tmp_path) is None
    assert folder_version(tmp_path / "nowhere") is None


def test_file_systems_of_other_machines_are_not_trusted(
    persistent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_version, "_LOCAL", frozenset())
    assert collection_version(persistent) is None


def test_files_are_kept_open_up_to_a_number_and_deleted_ones_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_version, "_opened", {})
    monkeypatch.setattr(sqlite_version, "_MAX_FILES", 2)
    folders = [tmp_path / str(n) for n in range(4)]
    for folder in folders:
        folder.mkdir()
        with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection:
            connection.execute("CREATE TABLE t (x)")
    assert [folder_version(folder) is not None for folder in folders] == [True, True, False, False]
    shutil.rmtree(folders[0])
    assert folder_version(folders[3]) is not None
    assert folder_version(folders[1]) is not None
    assert folder_version(folders[2]) is None
