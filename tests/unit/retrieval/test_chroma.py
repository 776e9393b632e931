"""Dense search in real Chroma collections: embedded, persistent and behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest

from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.chroma import (
    ChromaRetriever,
    distance_space,
    read_texts,
    unit_length,
)
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.types import Filters, Rewrite, Vector
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, chroma_collection

SPACES = ["cosine", "l2", "ip"]
TENANTS = [{"tenant": "ab"[number % 2], "year": 2020 + number} for number in range(len(DOCUMENTS))]


class UnevenEmbedder(TokenEmbedder):
    """Vectors of many lengths, so that the three spaces differ, and blends in them."""

    def vector(self, text: str) -> Vector:
        return np.asarray(super().vector(text) * (0.5 + len(text) % 5), dtype=np.float32)


EMBEDDER = UnevenEmbedder()


def retriever_over(collection: Any, embedder: Any = EMBEDDER) -> ChromaRetriever:
    return ChromaRetriever(collection, as_embedder(embedder))


def collection_of(space: str = "cosine", **settings: Any) -> Any:
    return chroma_collection(DOCUMENTS, EMBEDDER, space=space, metadatas=TENANTS, **settings)


@pytest.fixture(scope="module", params=SPACES)
def collection(request: pytest.FixtureRequest) -> Any:
    return collection_of(request.param)


def test_keep_is_the_collections_own_search(collection: Any) -> None:
    rankings = retriever_over(collection).search(
        [Rewrite((query,)) for query in QUERIES], k=5, with_documents=True
    )
    own = collection.query(
        query_embeddings=[EMBEDDER.vector(query) for query in QUERIES], n_results=5
    )
    for row, ranking in enumerate(rankings):
        assert list(ranking.ids) == own["ids"][row]
        assert list(ranking.texts or ()) == own["documents"][row]
        assert list(ranking.metadatas or ()) == own["metadatas"][row]
        assert np.all(np.diff(ranking.scores) <= 0)


def test_scores_are_similarities(collection: Any) -> None:
    [ranking] = retriever_over(collection).search([Rewrite((QUERIES[0],))], k=12)
    query = EMBEDDER.vector(QUERIES[0])
    for id_, score in zip(ranking.ids, ranking.scores.tolist(), strict=True):
        document = EMBEDDER.vector(DOCUMENTS[id_])
        expected = {
            "cosine": query @ document / np.linalg.norm(query) / np.linalg.norm(document),
            "l2": -((query - document) ** 2).sum(),
            "ip": query @ document,
        }[distance_space(collection)]
        assert score == pytest.approx(expected, abs=1e-4)


def test_a_blend_is_searched_by_the_mixed_vector(collection: Any) -> None:
    retriever = retriever_over(collection)
    texts = ("warranty repair", "voucher price")
    [ranking] = retriever.search([Rewrite(texts, (0.75, 0.25))], k=5)
    one, other = (EMBEDDER.vector(text) for text in texts)
    if distance_space(collection) == "cosine":
        one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    mixed = (0.75 * one + 0.25 * other).astype(np.float32)
    own = collection.query(query_embeddings=[mixed], n_results=5)
    assert list(ranking.ids) == own["ids"][0]
    [by_vector] = retriever.search([Rewrite(("ignored",), vector=mixed)], k=5)
    assert by_vector.ids == ranking.ids
    np.testing.assert_allclose(by_vector.scores, ranking.scores, atol=1e-5)


def test_mixed_filters_in_one_batch_keep_their_order(collection: Any) -> None:
    retriever = retriever_over(collection)
    filters = [
        Filters({"tenant": "a"}),
        None,
        Filters({"tenant": "b"}),
        Filters({"tenant": "a"}),
        Filters(None, {"$contains": "account"}),
        Filters({"year": {"$gte": 2026}}, {"$contains": "year"}),
        Filters({"tenant": "nobody"}),
        Filters({}),
    ]
    rewrites = [Rewrite((QUERIES[row % len(QUERIES)],)) for row in range(len(filters))]
    together = retriever.search(rewrites, k=12, filters=filters, with_documents=True)
    alone = [
        retriever.search([rewrite], k=12, filters=[restriction])[0]
        for rewrite, restriction in zip(rewrites, filters, strict=True)
    ]
    assert [ranking.ids for ranking in together] == [ranking.ids for ranking in alone]
    assert [len(ranking) for ranking in together] == [6, 12, 6, 6, 4, 3, 0, 12]
    assert {(m or {})["tenant"] for m in together[2].metadatas or ()} == {"b"}
    assert all("account" in text for text in together[4].texts or ())


def test_k_above_the_size_gives_everything(collection: Any) -> None:
    [ranking] = retriever_over(collection).search([Rewrite(("card",))], k=500)
    assert set(ranking.ids) == set(DOCUMENTS)
    assert retriever_over(collection).search([], k=5) == []


def test_document_vectors_come_in_the_order_asked_for(collection: Any) -> None:
    vectors = retriever_over(collection).document_vectors(["size", "nothing", "card", "size"])
    expected = [EMBEDDER.vector(DOCUMENTS[id_]) for id_ in ("size", "card")]
    if distance_space(collection) == "cosine":
        expected = [vector / np.linalg.norm(vector) for vector in expected]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[[0, 2]], expected, rtol=1e-5)
    np.testing.assert_array_equal(vectors[3], vectors[0])
    assert not vectors[1].any()
    assert len(retriever_over(collection).document_vectors([])) == 0
    assert len(retriever_over(collection).document_vectors(["nothing"])) == 1


def test_documents_come_in_the_order_asked_for(collection: Any) -> None:
    texts, metadatas = retriever_over(collection).documents(["size", "nothing", "card", "size"])
    assert texts == (DOCUMENTS["size"], None, DOCUMENTS["card"], DOCUMENTS["size"])
    assert metadatas[1] is None
    assert metadatas[0] == TENANTS[list(DOCUMENTS).index("size")]


def test_statistics_and_pages_of_texts(collection: Any) -> None:
    assert dict(read_texts(collection, page=5)) == DOCUMENTS
    assert dict(read_texts(collection, page=12)) == DOCUMENTS
    assert retriever_over(collection).statistics().n_documents == len(DOCUMENTS)


@pytest.mark.parametrize("space", SPACES)
def test_a_wrong_dimension_is_told_in_one_sentence(space: str) -> None:
    retriever = retriever_over(collection_of(space), TokenEmbedder(8))
    with pytest.raises(CollectionError) as caught:
        retriever.search([Rewrite(("q",))], k=3)
    message = str(caught.value)
    assert "holds vectors of 32 numbers but the embedder makes 8; pass the embedder" in message
    assert "\n" not in message


def test_a_malformed_filter_is_told_in_one_sentence(collection: Any) -> None:
    with pytest.raises(CollectionError, match=r"could not be searched: .*\$bad"):
        retriever_over(collection).search(
            [Rewrite(("q",))], k=3, filters=[Filters({"year": {"$bad": 1}})]
        )


def test_a_deleted_collection_is_told_in_one_sentence() -> None:
    client = chromadb.EphemeralClient()
    collection = collection_of(client=client)
    retriever = retriever_over(collection)
    client.delete_collection(collection.name)
    with pytest.raises(CollectionError, match="could not be searched"):
        retriever.search([Rewrite(("q",))], k=3)


@pytest.mark.parametrize("space", SPACES)
def test_an_empty_collection_gives_empty_rankings(space: str) -> None:
    retriever = retriever_over(chroma_collection({}, space=space))
    rankings = retriever.search([Rewrite(("q",)), Rewrite(("r",))], k=3, with_documents=True)
    assert [ranking.ids for ranking in rankings] == [(), ()]
    assert retriever.statistics().n_documents == 0


def test_documents_without_text_or_metadata() -> None:
    collection = chroma_collection({})
    collection.add(ids=["bare"], embeddings=[EMBEDDER.vector("x")])
    retriever = retriever_over(collection)
    [ranking] = retriever.search([Rewrite(("x",))], k=3, with_documents=True)
    assert (ranking.ids, ranking.texts, ranking.metadatas) == (("bare",), ("",), (None,))
    assert retriever.documents(["bare"]) == (("",), (None,))


def test_the_space_of_collections_made_the_old_way() -> None:
    client = chromadb.EphemeralClient()
    old = client.create_collection("old-way", metadata={"hnsw:space": "ip"})
    plain = client.create_collection("plain-way")
    assert distance_space(old) == "ip"
    assert distance_space(plain) == "l2"


def test_more_queries_than_one_call_takes() -> None:
    retriever = retriever_over(collection_of())
    rewrites = [Rewrite((QUERIES[row % 4],)) for row in range(2_005)]
    rankings = retriever.search(rewrites, k=2)
    assert [r.ids for r in rankings] == [rankings[row % 4].ids for row in range(2_005)]


def test_a_persistent_collection_opened_again(tmp_path: Path) -> None:
    collection = collection_of(client=chromadb.PersistentClient(tmp_path))
    [before] = retriever_over(collection).search([Rewrite((QUERIES[0],))], k=5)
    again = chromadb.PersistentClient(tmp_path).get_collection(
        collection.name, embedding_function=None
    )
    [after] = retriever_over(again).search(
        [Rewrite((QUERIES[0],))], k=5, filters=[Filters({"year": {"$lt": 3000}})]
    )
    assert after.ids == before.ids
    assert distance_space(again) == "cosine"


@pytest.mark.parametrize("space", SPACES)
def test_behind_http_everything_is_the_same(chroma_http: Any, space: str) -> None:
    remote = retriever_over(collection_of(space, client=chroma_http))
    local = retriever_over(collection_of(space))
    rewrites = [*(Rewrite((query,)) for query in QUERIES), Rewrite(QUERIES[:2], (0.5, 0.5))]
    filters = [None, Filters({"tenant": "a"}), None, Filters(None, {"$contains": "card"}), None]
    rankings = [
        retriever.search(rewrites, k=5, filters=filters, with_documents=True)
        for retriever in (remote, local)
    ]
    for far, near in zip(*rankings, strict=True):
        assert (far.ids, far.texts, far.metadatas) == (near.ids, near.texts, near.metadatas)
        np.testing.assert_allclose(far.scores, near.scores, atol=1e-5)
    np.testing.assert_allclose(
        remote.document_vectors(["size", "x"]), local.document_vectors(["size", "x"]), atol=1e-6
    )


def test_unit_length_leaves_zeros_alone() -> None:
    rows = unit_length(np.asarray([[3, 4], [0, 0]], dtype=np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]])
    assert unit_length(np.zeros((0, 0), dtype=np.float32)).shape == (0, 0)


@pytest.mark.parametrize("change", ["vector", "text", "metadata"])
def test_a_changed_document_changes_the_fingerprint(change: str) -> None:
    collection = collection_of()
    retriever = retriever_over(collection)
    before = retriever.fingerprint()
    assert retriever_over(collection_of()).fingerprint() == before
    changes: dict[str, Any] = {
        "vector": {"embeddings": [EMBEDDER.vector("another model's")]},
        "text": {"documents": ["other words"], "embeddings": [EMBEDDER.vector(DOCUMENTS["size"])]},
        "metadata": {"metadatas": [{"tenant": "c"}]},
    }
    collection.update(ids=["size"], **changes[change])
    assert retriever.fingerprint() != before


def test_the_fingerprint_is_that_of_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = retriever_over(collection_of())
    whole = retriever.fingerprint()
    for size in (5, 6, len(DOCUMENTS)):
        monkeypatch.setattr("rl_rewriter.retrieval.chroma._GET_CHUNK", size)
        assert retriever.fingerprint() == whole
