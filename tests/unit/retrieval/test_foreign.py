"""Retrievers of other frameworks as one of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import Field

from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.features.first_ranking import FirstRanking
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.foreign import ForeignRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.known_documents import KnownDocuments, over_documents
from rl_rewriter.retrieval.protocols import DocumentSource, Fingerprinted, Retriever
from rl_rewriter.types import Filters, Needs, Query, Rewrite
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder

Hits = list[list[tuple[Any, Any]]]


class Words(BaseRetriever):
    """A retriever of LangChain's that gives the documents with a word of the query."""

    id_key: str = ""
    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.asked.append(query)
        return [
            Document(text, id=None if self.id_key else id_, metadata={self.id_key or "n": id_})
            for id_, text in DOCUMENTS.items()
            if set(query.lower().split()) & set(text.lower().split())
        ]


class Nodes(LlamaIndexRetriever):
    """A retriever of LlamaIndex's that always gives the same nodes."""

    def __init__(self, *nodes: NodeWithScore) -> None:
        super().__init__()
        self._nodes = list(nodes)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes


def node(id_: str, score: float | None, document: str | None = None) -> NodeWithScore:
    made = TextNode(text=f"text of {id_}", id_=id_, metadata={"lang": "en"})
    if document is not None:
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return NodeWithScore(node=made, score=score)


def always(*pairs: tuple[Any, Any]) -> Any:
    def search(texts: list[str], k: int) -> Hits:
        return [list(pairs) for _ in texts]

    return search


def rewrites(*texts: str) -> list[Rewrite]:
    return [Rewrite((text,)) for text in texts]


def test_langchain() -> None:
    retriever = ForeignRetriever(Words())
    assert isinstance(retriever, Retriever)
    assert not isinstance(retriever, DocumentSource)
    assert not isinstance(retriever, Fingerprinted)  # what it finds may change: nothing is kept
    assert retriever.name == "Words"
    assert retriever.offers == Needs.FIRST_RANKING | Needs.FIRST_TEXTS
    [ranking, nothing] = retriever.search(rewrites("refunded voucher", "?"), k=5)
    assert ranking.ids == ("refund", "voucher")
    assert ranking.scores.tolist() == [1.0, 0.5]
    assert ranking.texts is None
    assert len(nothing) == 0
    [full] = retriever.search(rewrites("refunded voucher"), k=1, with_documents=True)
    assert full.texts == (DOCUMENTS["refund"],)
    assert full.metadatas == ({"n": "refund"},)


def test_any_runnable_that_gives_documents() -> None:
    chain: Runnable[str, list[Document]] = RunnableLambda(
        lambda text: [Document("x", id=text.upper())]
    )
    [ranking] = ForeignRetriever(chain).search(rewrites("a"), k=3)
    assert ranking.ids == ("A",)


def test_a_vector_store_of_langchain() -> None:
    store = InMemoryVectorStore(TokenEmbedder())  # type: ignore[arg-type]  # embeds all the same
    store.add_documents([Document(text, id=id_) for id_, text in DOCUMENTS.items()])
    retriever = over_documents(store.as_retriever(search_kwargs={"k": 3}), DOCUMENTS)
    rankings = retriever.search(rewrites(*QUERIES), k=10)
    assert [len(ranking) for ranking in rankings] == [3] * len(QUERIES)


def test_llama_index() -> None:
    retriever = ForeignRetriever(Nodes(node("a", 0.9), node("b", 0.4)), name="mine")
    assert retriever.name == "mine"
    [ranking] = retriever.search(rewrites("x"), k=5, with_documents=True)
    assert ranking.ids == ("a", "b")
    assert ranking.scores.tolist() == pytest.approx([0.9, 0.4])
    assert ranking.texts == ("text of a", "text of b")
    assert ranking.metadatas == ({"lang": "en"}, {"lang": "en"})


def test_a_function_of_ones_own() -> None:
    asked: list[tuple[list[str], int]] = []

    def search(texts: list[str], k: int) -> Hits:
        asked.append((texts, k))
        return [[(text, 2), (7, 1)] for text in texts]

    retriever = ForeignRetriever(search)
    assert retriever.name == "search"
    assert retriever.offers == Needs.FIRST_RANKING
    found = retriever.search(rewrites("a", "b", "a"), k=5)
    assert asked == [(["a", "b"], 5)]  # each text once
    assert [ranking.ids for ranking in found] == [("a", "7"), ("b", "7"), ("a", "7")]
    assert retriever.search([], k=5) == []
    assert len(asked) == 1


def test_each_text_is_searched_once() -> None:
    words = Words(asked=[])
    ForeignRetriever(words).search(rewrites("a", "b", "a", "b"), k=3)
    assert sorted(words.asked) == ["a", "b"]


@pytest.mark.parametrize(
    ("told", "scores"),
    [
        ((3.0, 2.0, 2.0), [3, 2, 2]),
        ((None, None, None), [1, 1 / 2, 1 / 3]),
        ((3.0, None, 1.0), [1, 1 / 2, 1 / 3]),
        ((0.1, 0.2, 0.3), [1, 1 / 2, 1 / 3]),  # distances
        ((float("nan"), 1.0, 0.0), [1, 1 / 2, 1 / 3]),
    ],
)
def test_scores_that_say_nothing_become_reciprocal_ranks(
    told: Sequence[float | None], scores: list[float]
) -> None:
    search = always(*zip("abc", told, strict=True))
    [ranking] = ForeignRetriever(search).search(rewrites("x"), k=3)
    assert ranking.scores.dtype == np.float32
    assert ranking.scores.tolist() == pytest.approx(scores)


def test_features_of_reciprocal_ranks_are_finite_and_constant() -> None:
    retriever = over_documents(Words(), DOCUMENTS)
    evidence = gather(
        [Query("refunded voucher"), Query("voucher two"), Query("nothing")],
        retriever,
        retriever.statistics(),
        FirstRanking().needs,
    )
    states = FirstRanking().extract(evidence)
    assert np.isfinite(states).all()
    assert states[:, 0].tolist() == [1.0, 1.0, 0.0]
    assert states[:, -1].tolist() == [0.0, 0.0, 1.0]


def test_the_best_chunk_stands_for_its_document() -> None:
    nodes = Nodes(node("c1", 0.9, "card"), node("c2", 0.8, "refund"), node("c3", 0.7, "card"))
    chunks = ForeignRetriever(nodes).search(rewrites("x"), k=3)[0]
    assert chunks.ids == ("c1", "c2", "c3")
    whole = over_documents(nodes, DOCUMENTS).search(rewrites("x"), k=3, with_documents=True)[0]
    assert whole.ids == ("card", "refund")
    assert whole.scores.tolist() == pytest.approx([0.9, 0.8])
    assert whole.texts == (DOCUMENTS["card"], DOCUMENTS["refund"])


@pytest.mark.parametrize("key", ["id", "_id", "doc_id", "document_id"])
def test_an_id_may_stand_in_the_metadata(key: str) -> None:
    [ranking] = ForeignRetriever(Words(id_key=key)).search(rewrites("voucher"), k=3)
    assert ranking.ids == ("voucher",)


def test_the_collections_own_id_counts_where_there_are_several() -> None:
    chain: Runnable[str, list[Document]] = RunnableLambda(
        lambda text: [Document("x", id="uuid", metadata={"id": "card"})]
    )
    assert ForeignRetriever(chain).search(rewrites("a"), k=3)[0].ids == ("uuid",)
    assert over_documents(chain, DOCUMENTS).search(rewrites("a"), k=3)[0].ids == ("card",)


def test_documents_without_an_id_are_refused() -> None:
    with pytest.raises(CollectionError, match="Words gives documents without an id; set the doc"):
        ForeignRetriever(Words(id_key="title")).search(rewrites("voucher"), k=3)


def test_ids_of_another_collection_are_refused() -> None:
    retriever = over_documents(always(("x1", 2), ("x2", 1)), DOCUMENTS)
    with pytest.raises(CollectionError, match="none of the 2 documents that the retriever search"):
        retriever.search(rewrites("a"), k=3)
    half = over_documents(always(("x1", 2), ("card", 1)), DOCUMENTS)
    assert half.search(rewrites("a"), k=3)[0].ids == ("x1", "card")
    nothing_known = over_documents(always(("x1", 2)), {})
    assert nothing_known.search(rewrites("a"), k=3)[0].ids == ("x1",)


def test_filters_are_refused_never_dropped() -> None:
    retriever = ForeignRetriever(Words())
    with pytest.raises(InputError, match="filters cannot be passed on to the retriever Words"):
        retriever.search(rewrites("a"), k=3, filters=[Filters({"tenant": "a"})])
    assert retriever.search(rewrites("a"), k=3, filters=[None])


@pytest.mark.parametrize(
    "rewrite",
    [
        Rewrite(("a", "b"), (0.5, 0.5)),
        Rewrite(("a",), vector=np.ones(3, dtype=np.float32)),
        Rewrite(("a",), lexical_weight=0.5),
    ],
)
def test_more_than_a_text_is_refused(rewrite: Rewrite) -> None:
    with pytest.raises(CollectionError, match="Words takes one text"):
        ForeignRetriever(Words()).search([rewrite], k=3)


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        ([], "gave 0 results for 1 texts"),
        ([[("a", 1)], []], "gave 2 results for 1 texts"),
        ([["a", "b"]], r"failed \(TypeError: expected \(id, score\) pairs, got 'a'\)"),
        ([[("a", 1, 2)]], "expected"),
        ([[("a", "high")]], r"failed \(ValueError: could not convert"),
        ([[(None, 1)]], "documents without an id"),
        ([[("", 1)]], "documents without an id"),
        (None, r"failed \(TypeError"),
    ],
)
def test_results_of_another_form_are_named(hits: Any, message: str) -> None:
    with pytest.raises(CollectionError, match=message):
        ForeignRetriever(lambda texts, k: hits, name="mine").search(rewrites("x"), k=3)


def test_a_failure_is_one_sentence() -> None:
    def search(texts: list[str], k: int) -> Hits:
        raise ConnectionError("refused")

    with pytest.raises(
        CollectionError, match=r"retriever search failed \(ConnectionError: refused"
    ):
        ForeignRetriever(search).search(rewrites("x"), k=3)


def test_always_fewer_than_asked_for_is_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    retriever = over_documents(always(("card", 2), ("refund", 1)), DOCUMENTS)
    assert isinstance(retriever, KnownDocuments)
    assert retriever.note is None
    for _ in range(2):
        assert len(retriever.search(rewrites("a"), k=10)[0]) == 2
    note = "never gave more than 2 documents where 10 were asked for"
    assert note in (retriever.note or "")
    assert caplog.text.count(note) == 1
    assert ForeignRetriever(always(("a", 1))).search(rewrites("x"), k=1)
    assert len(caplog.records) == 1


def test_known_documents_give_term_weights() -> None:
    retriever = over_documents(Words(), DOCUMENTS)
    assert isinstance(retriever, DocumentSource)
    assert retriever.n_documents == len(DOCUMENTS)
    assert retriever.documents(["card", "nothing"])[0] == (DOCUMENTS["card"], None)
    assert retriever.statistics().knows("voucher")
    assert ForeignRetriever(Words()).statistics().n_documents == 0
    by_function = over_documents(always(("card", 1)), DOCUMENTS)
    assert Needs.FIRST_TEXTS in by_function.offers
    [ranking] = by_function.search(rewrites("x"), k=1, with_documents=True)
    assert ranking.texts == (DOCUMENTS["card"],)


def test_a_retriever_of_our_own_form_is_taken_as_it_is() -> None:
    own = Bm25Retriever(DOCUMENTS)
    assert over_documents(own, DOCUMENTS) is own
    with pytest.raises(InputError, match="Words has no n_documents and documents"):
        over_documents(ForeignRetriever(Words()), DOCUMENTS)


@pytest.mark.parametrize("source", [None, "x", 7, Words, object()])
def test_what_is_no_retriever_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="pass a "):
        over_documents(source, DOCUMENTS)


async def search_later(texts: list[str], k: int) -> Hits:
    return []


def test_an_async_function_is_refused() -> None:
    with pytest.raises(InputError, match="cannot search with a function"):
        ForeignRetriever(search_later)
