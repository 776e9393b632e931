"""What names a store is checked before anything is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb
import pytest

from rl_rewriter.benchmark.stores import StoreConfig, own_collection
from rl_rewriter.errors import CollectionError, InputError


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"base": "dense"}, "unknown base retriever 'dense'; use one of chroma, bm25"),
        ({"chroma_path": Path("x")}, "name the collection of your Chroma"),
        ({"chroma_path": Path("x"), "collection": "c", "embedder": "tfidf"}, "TF-IDF cannot make"),
        ({"chroma_host": "h:1", "collection": "c", "base": "bm25"}, "searches documents in memory"),
        ({"collection": "docs"}, "say where the collection 'docs' is, with --chroma-path FOLDER"),
    ],
)
def test_settings_that_mean_nothing_together_are_refused(
    settings: dict[str, Any], what: str
) -> None:
    with pytest.raises(InputError, match=what):
        StoreConfig(**settings)


@pytest.mark.parametrize("host", ["", ":8000", "localhost:port", "localhost:80x"])
def test_a_server_that_is_named_wrongly_is_refused(host: str) -> None:
    with pytest.raises(InputError, match=r'named like "localhost:8000"'):
        own_collection(StoreConfig(chroma_host=host, collection="docs"))


def test_a_collection_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="there is no collection 'docs' to open at"):
        own_collection(StoreConfig(chroma_path=tmp_path, collection="docs"))


def test_a_mistyped_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    mistyped = tmp_path / "typo"
    with pytest.raises(CollectionError, match=r"typo: the folder .* would hold chroma\.sqlite3"):
        own_collection(StoreConfig(chroma_path=mistyped, collection="docs"))
    assert not mistyped.exists()


def test_a_missing_collection_of_a_chroma_is_named(tmp_path: Path) -> None:
    chromadb.PersistentClient(str(tmp_path)).create_collection("other")
    with pytest.raises(CollectionError, match="there is no collection 'docs' to open at"):
        own_collection(StoreConfig(chroma_path=tmp_path, collection="docs"))
