"""Objects over one collection share, others never do, and nothing is kept alive for it."""

from __future__ import annotations

import gc
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import ref

import chromadb
import pytest
from chromadb.api.client import Client
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.per_collection import PerCollection
from rl_rewriter.types import Rewrite
from tests.support import DOCUMENTS, TokenEmbedder, add_documents, chroma_collection


def opened(folder: Path, **settings: Any) -> Any:
    return chromadb.PersistentClient(folder, **settings)


def close(client: Any) -> None:
    """Let go of its folder; versions of Chroma before 1.5 do that at exit."""
    getattr(client, "close", lambda: None)()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    client = opened(tmp_path / "store")
    yield client
    close(client)


def again(client: Any, collection: Any) -> Any:
    """Another object for the same collection, as a vector store made per request has."""
    return client.get_collection(collection.name, embedding_function=None)


def find(collection: Any, text: str) -> tuple[str, ...]:
    return ChromaBm25.shared(collection).current_index().top(Rewrite((text,)), 3).ids


def test_objects_over_one_collection_share_one_index(client: Any, tmp_path: Path) -> None:
    collection = chroma_collection(client=client)
    other_client = opened(tmp_path / "store")
    first = ChromaBm25.shared(collection)
    for other in (again(client, collection), again(other_client, collection)):
        assert other is not collection
        assert ChromaBm25.shared(other).current_index() is first.current_index()
    close(other_client)


def test_each_collection_has_its_own_whatever_it_is_called(client: Any, tmp_path: Path) -> None:
    admin = chromadb.AdminClient(client.get_settings())
    admin.create_database("other")
    admin.create_tenant("somebody")
    admin.create_database("other", "somebody")
    elsewhere = opened(tmp_path / "elsewhere")
    clients = [
        client,
        elsewhere,
        opened(tmp_path / "store", database="other"),
        opened(tmp_path / "store", tenant="somebody", database="other"),
    ]
    collections = [c.create_collection("pages", embedding_function=None) for c in clients]
    for number, collection in enumerate(collections):
        add_documents(collection, {f"d{number}": "a refund"})
    assert [find(collection, "refund") for collection in collections] == [
        (f"d{number}",) for number in range(4)
    ]
    for other in clients[1:]:
        close(other)


def test_a_collection_made_anew_under_its_name_has_a_new_index(client: Any) -> None:
    collection = chroma_collection(client=client)
    assert find(collection, "voucher") == ("voucher",)
    client.delete_collection(collection.name)
    renewed = client.create_collection(collection.name, embedding_function=None)
    add_documents(renewed, {"new": "the only voucher"})
    assert find(renewed, "voucher") == ("new",)


def test_a_copied_folder_is_another_collection_of_the_same_id(tmp_path: Path) -> None:
    before = opened(tmp_path / "one")
    name = chroma_collection({"old": "a voucher"}, client=before).name
    close(before)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    one, two = (opened(tmp_path / folder) for folder in ("one", "two"))
    copied = two.get_collection(name, embedding_function=None)
    kept = one.get_collection(name, embedding_function=None)
    assert copied.id == kept.id
    add_documents(copied, {"new": "another voucher"})
    assert find(kept, "voucher") == ("old",)
    assert set(find(copied, "voucher")) == {"old", "new"}
    close(one)
    close(two)


def test_no_more_are_kept_than_the_limit_and_the_used_ones_stay(client: Any) -> None:
    kept: PerCollection[object] = PerCollection(object, 2)
    a, b, c = (chroma_collection({}, client=client) for _ in range(3))
    of_a, of_b = kept.of(a), kept.of(b)
    assert kept.of(again(client, a)) is of_a
    kept.of(c)  # b was asked for the longest ago
    assert len(kept) == 2
    assert kept.of(a) is of_a
    assert kept.of(b) is not of_b


class Holder:
    """What stands for a client here: it can be watched, and goes when nobody holds it."""


class Collection:
    """One of many objects for the same collection."""

    tenant, database = "t", "d"

    def __init__(self, client: Holder, name: str) -> None:
        self._client, self.id = client, name


@given(
    limit=st.integers(1, 4),
    asked=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), max_size=30),
)
def test_one_object_a_collection_and_never_more_than_the_limit(
    limit: int, asked: list[tuple[int, str]]
) -> None:
    kept: PerCollection[object] = PerCollection(object, limit)
    clients = [Holder() for _ in range(3)]
    recent: dict[tuple[int, str], object] = {}
    for number, name in asked:
        found = kept.of(Collection(clients[number], name))
        expected = recent.pop((number, name), None)
        assert expected is None or found is expected
        assert all(found is not other for other in recent.values())
        recent[number, name] = found
        while len(recent) > limit:
            del recent[next(iter(recent))]
        assert len(kept) == len(recent)


def test_collections_and_clients_that_nobody_holds_are_let_go() -> None:
    kept: PerCollection[object] = PerCollection(object, 10)
    client = Holder()
    collection = Collection(client, "a")
    watched = ref(collection)
    kept.of(collection)
    del collection
    gc.collect()
    assert watched() is None
    assert len(kept) == 1
    del client
    gc.collect()
    assert len(kept) == 0


@pytest.mark.skipif(not hasattr(Client, "close"), reason="this Chroma keeps clients")
def test_an_open_index_keeps_no_chroma_client_alive(tmp_path: Path) -> None:
    client = opened(tmp_path / "store")
    collection = chroma_collection(client=client)
    assert find(collection, "voucher") == ("voucher",)
    server = ref(collection._client)
    close(client)
    del client, collection
    gc.collect()
    assert server() is None


def test_what_can_not_be_watched_is_not_kept() -> None:
    class Slotted:
        __slots__ = ()
        _client, id = None, "a"

    kept: PerCollection[object] = PerCollection(object, 10)
    unknown = Slotted()
    assert kept.of(unknown) is not kept.of(unknown)
    assert len(kept) == 0


def test_many_threads_get_one_object(client: Any) -> None:
    kept: PerCollection[object] = PerCollection(object, 10)
    collection = chroma_collection({}, client=client)
    found: list[object] = []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait(10)
        found.append(kept.of(collection))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_changes_are_noticed_through_whichever_object_looks(client: Any, tmp_path: Path) -> None:
    collection = chroma_collection(client=client)
    kept = ChromaBm25.shared(collection).kept
    one, other = (
        ChromaBm25(handle, cache_dir=tmp_path, refresh_seconds=0.0, kept=kept)
        for handle in (collection, again(client, collection))
    )
    assert len(one.current_index()) == len(DOCUMENTS)
    add_documents(collection, {"new": "a unicycle"}, TokenEmbedder())
    assert "new" in other.current_index().ids
    assert one.current_index() is other.current_index()
