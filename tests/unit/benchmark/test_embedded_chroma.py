"""The embedded collection of a folder: built once, used again, and never by two at a time."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.embedded_chroma import embedded_collection
from rl_rewriter.benchmark.folder_lock import hold, release
from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.types import Matrix, Query, Rewrite
from tests.support import DOCUMENTS, TokenEmbedder

COLLECTION = JudgedCollection(
    "shop", DOCUMENTS, (Query("money back", id="q"),), {"q": {"refund": 1.0}}
)
HOLD = """
import sys, fcntl
file = open(sys.argv[1], "w")
fcntl.flock(file, {"alone": fcntl.LOCK_EX, "beside": fcntl.LOCK_SH}[sys.argv[2]])
print("held", flush=True)
sys.stdin.read()
"""


class Embedder:
    """Counts the documents that it had to embed."""

    name = "tokens"

    def __init__(self) -> None:
        self.embedded = 0
        self._tokens = TokenEmbedder()

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.embedded += len(texts)
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        return np.stack([self._tokens.vector(text) for text in texts])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "chroma"
    release(tmp_path / "chroma")


@contextmanager
def another_process_holds(folder: Path, how: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", HOLD, str(folder / ".lock"), how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.communicate("")


def first(collection: Any, embedder: Embedder, text: str) -> str:
    [ranking] = ChromaRetriever(collection, embedder).search([Rewrite((text,))], k=1)
    return ranking.ids[0]


def test_the_same_documents_are_used_again(folder: Path) -> None:
    embedder = Embedder()
    before = embedded_collection(COLLECTION, folder, embedder)
    assert embedder.embedded == before.count() == len(DOCUMENTS)
    after = embedded_collection(COLLECTION, folder, embedder)
    assert embedder.embedded == len(DOCUMENTS)
    assert after.id == before.id
    assert first(after, embedder, DOCUMENTS["repair"]) == "repair"


def test_other_documents_take_their_place(folder: Path) -> None:
    embedder = Embedder()
    before = embedded_collection(COLLECTION, folder, embedder)
    edited = {**DOCUMENTS, "repair": "Nothing is repaired any more."}
    changed = dataclasses.replace(COLLECTION, documents=edited)
    after = embedded_collection(changed, folder, embedder)
    assert after.id != before.id
    assert after.get(ids=["repair"])["documents"] == ["Nothing is repaired any more."]
    assert embedder.embedded == 2 * len(DOCUMENTS)


def test_another_embedder_makes_it_anew(folder: Path) -> None:
    embedder = Embedder()
    embedded_collection(COLLECTION, folder, embedder)
    embedder.name = "another"
    embedded_collection(COLLECTION, folder, embedder)
    assert embedder.embedded == 2 * len(DOCUMENTS)


def test_a_collection_that_was_left_half_built_is_made_anew(folder: Path) -> None:
    embedder = Embedder()
    made = embedded_collection(COLLECTION, folder, embedder)
    made.delete(ids=["refund"])
    assert embedded_collection(COLLECTION, folder, embedder).count() == len(DOCUMENTS)
    made = embedded_collection(COLLECTION, folder, embedder)
    made.modify(metadata={"made_by_rl_rewriter": True})
    assert embedded_collection(COLLECTION, folder, embedder).id != made.id


def test_a_collection_of_someone_elses_is_left_alone(folder: Path) -> None:
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    client.create_collection("docs-shop", embedding_function=None)
    with pytest.raises(CollectionError, match="holds a collection 'docs-shop' of someone else's"):
        embedded_collection(COLLECTION, folder, Embedder())
    assert [found.name for found in client.list_collections()] == ["docs-shop"]


@pytest.mark.parametrize("name", ["", "客服", "a/b c", "x" * 600, "-"])
def test_any_name_will_do(folder: Path, name: str) -> None:
    named = dataclasses.replace(COLLECTION, name=name)
    assert embedded_collection(named, folder, Embedder()).count() == len(DOCUMENTS)


def test_nobody_searches_while_another_builds(folder: Path) -> None:
    with (
        another_process_holds(folder, "alone"),
        pytest.raises(CollectionError, match="another command is building a collection in"),
    ):
        embedded_collection(COLLECTION, folder, Embedder())


def test_nobody_builds_while_another_searches(folder: Path) -> None:
    embedder = Embedder()
    embedded_collection(COLLECTION, folder, embedder)
    release(folder)
    changed = dataclasses.replace(COLLECTION, documents={"new": "text"})
    with another_process_holds(folder, "beside"):
        same = embedded_collection(COLLECTION, folder, embedder)
        assert same.count() == len(DOCUMENTS)
        with pytest.raises(CollectionError, match="another command searches in"):
            embedded_collection(changed, folder, embedder)
        assert same.count() == len(DOCUMENTS)


def test_a_folder_is_held_until_it_is_released(folder: Path) -> None:
    folder.mkdir()
    assert hold(folder, alone=True)
    assert hold(folder, alone=False)
    assert hold(folder, alone=True)
    release(folder)
    release(folder)
    with another_process_holds(folder, "beside"):
        assert not hold(folder, alone=True)
        assert hold(folder, alone=False)
    assert hold(folder, alone=True)
