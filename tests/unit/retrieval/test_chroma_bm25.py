"""The BM25 index of a collection stays what the collection is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import chromadb
import pytest

from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25, default_cache_dir
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Filters, Ranking, Rewrite
from tests.support import DOCUMENTS, TokenEmbedder, add_documents, chroma_collection

TENANTS = [{"tenant": "ab"[number % 2]} for number in range(len(DOCUMENTS))]


def opened(collection: Any, folder: Path, refresh_seconds: float = 0.0) -> ChromaBm25:
    return ChromaBm25(collection, cache_dir=folder, refresh_seconds=refresh_seconds)


def find(bm25: ChromaBm25, text: str, filters: Filters | None = None) -> Ranking:
    index = bm25.current_index()
    return index.top(Rewrite((text,)), 20, bm25.allowed(filters, index))


def test_added_and_deleted_documents_are_noticed(tmp_path: Path) -> None:
    collection = chroma_collection()
    bm25 = opened(collection, tmp_path)
    assert find(bm25, "unicycle").ids == ()
    add_documents(collection, {"new": "a unicycle has one wheel"})
    assert find(bm25, "unicycle").ids == ("new",)
    collection.delete(ids=["new"])
    assert find(bm25, "unicycle").ids == ()
    assert len(bm25.current_index()) == len(DOCUMENTS)


def test_one_document_in_place_of_another_is_noticed(tmp_path: Path) -> None:
    """The number of documents stays the same."""
    collection = chroma_collection()
    bm25 = opened(collection, tmp_path)
    bm25.current_index()
    collection.delete(ids=["size"])
    add_documents(collection, {"new": "a unicycle has one wheel"})
    assert find(bm25, "unicycle").ids == ("new",)
    assert find(bm25, "shoe").ids == ()


def test_what_was_ready_for_requests_is_ready_again_after_a_change(tmp_path: Path) -> None:
    collection = chroma_collection({"refund": "money is refunded"})
    bm25 = opened(collection, tmp_path)
    assert not bm25.current_index().knows_spelling
    asked = Rewrite((ask_alike("refunds"),))
    assert bm25.current_index().top(asked, 1).ids == ("refund",)
    add_documents(collection, {"again": "refunding"})
    index = bm25.current_index()
    assert index.knows_spelling
    assert set(index.top(asked, 2).ids) == {"refund", "again"}


def test_a_change_makes_nothing_ready_that_nobody_asked_for(tmp_path: Path) -> None:
    collection = chroma_collection({"refund": "money is refunded"})
    bm25 = opened(collection, tmp_path)
    bm25.current_index()
    add_documents(collection, {"again": "refunding"})
    assert not bm25.current_index().knows_spelling


def test_texts_edited_in_place_are_noticed_by_refresh(tmp_path: Path) -> None:
    collection = chroma_collection()
    bm25 = opened(collection, tmp_path)
    bm25.current_index()
    collection.update(
        ids=["size"],
        documents=["a unicycle has one wheel"],
        embeddings=[TokenEmbedder().vector("unicycle")],
    )
    bm25.refresh()
    assert find(bm25, "unicycle").ids == ("size",)


def test_between_two_looks_the_index_stays(tmp_path: Path) -> None:
    collection = chroma_collection()
    bm25 = opened(collection, tmp_path, refresh_seconds=3600)
    before = bm25.current_index()
    add_documents(collection, {"new": "a unicycle has one wheel"})
    assert bm25.current_index() is before
    bm25.refresh()
    assert find(bm25, "unicycle").ids == ("new",)


def test_an_unchanged_collection_is_not_indexed_again(tmp_path: Path) -> None:
    collection = chroma_collection()
    bm25 = opened(collection, tmp_path)
    assert bm25.current_index() is bm25.current_index()


def test_the_stored_index_serves_the_next_process(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(tmp_path / "store")
    collection = chroma_collection(client=client)
    first = find(opened(collection, tmp_path), "account")
    [folder] = (tmp_path / "bm25").iterdir()
    written = (folder / "documents.json").stat().st_mtime_ns
    again = client.get_collection(collection.name, embedding_function=None)
    second = find(opened(again, tmp_path), "account")
    assert second.ids == first.ids
    assert (folder / "documents.json").stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", [b"", b"[]", b"\x00"])
def test_a_damaged_stored_index_is_built_again(tmp_path: Path, damage: bytes) -> None:
    collection = chroma_collection()
    find(opened(collection, tmp_path), "account")
    [folder] = (tmp_path / "bm25").iterdir()
    (folder / "vocab.index.json").write_bytes(damage)
    assert set(find(opened(collection, tmp_path), "account").ids) == {
        "return", "password", "account", "invoice",
    }  # fmt: skip


def test_a_cache_that_cannot_be_written_costs_only_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with caplog.at_level(logging.WARNING):
        assert find(opened(chroma_collection(), blocked), "voucher").ids == ("voucher",)
    assert "BM25 index kept in memory only" in caplog.text


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (None, {"return", "password", "account", "invoice"}),
        (Filters(), {"return", "password", "account", "invoice"}),
        (Filters({"tenant": "a"}), {"password"}),
        (Filters({"tenant": "b"}), {"return", "account", "invoice"}),
        (Filters(None, {"$contains": "mail"}), {"password", "invoice"}),
        (Filters({"tenant": "b"}, {"$contains": "mail"}), {"invoice"}),
        (Filters({"tenant": "c"}), set()),
    ],
)
def test_filters_mean_what_they_mean_to_chroma(
    tmp_path: Path, filters: Filters | None, found: set[str]
) -> None:
    collection = chroma_collection(metadatas=TENANTS)
    assert set(find(opened(collection, tmp_path), "account", filters).ids) == found


def test_a_changed_tenant_is_noticed_at_once(tmp_path: Path) -> None:
    collection = chroma_collection(metadatas=TENANTS)
    bm25 = opened(collection, tmp_path, refresh_seconds=3600)
    assert "voucher" in find(bm25, "voucher", Filters({"tenant": "a"})).ids
    collection.update(ids=["voucher"], metadatas=[{"tenant": "b"}])
    assert find(bm25, "voucher", Filters({"tenant": "a"})).ids == ()


def test_an_empty_collection(tmp_path: Path) -> None:
    collection = chroma_collection({})
    bm25 = opened(collection, tmp_path)
    assert find(bm25, "anything").ids == ()
    assert find(bm25, "anything", Filters({"tenant": "a"})).ids == ()
    add_documents(collection, DOCUMENTS)
    assert find(bm25, "voucher").ids == ("voucher",)


def test_where_indexes_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RL_REWRITER_CACHE", str(tmp_path / "own"))
    assert default_cache_dir() == tmp_path / "own"
    monkeypatch.delenv("RL_REWRITER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "rl_rewriter"
