"""Actions on the vector and BM25 fusion, over the user's own vector store and its filters."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableField
from langchain_core.vectorstores import InMemoryVectorStore

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.integrations.langchain import RewritingRetriever
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.types import Filters, Needs
from tests.integration.langchain.parts import Embedder, NewStore, Trained, documents, latest
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint

ACTIONS = ["keywords", "keywords@0.5", "expand_3x5", "move_dense_1@0.4", "move_bm25_3@0.4"]
FUSIONS = ["fuse_bm25@0.6", BLEND]


@pytest.mark.parametrize("action", [*ACTIONS, *FUSIONS])
def test_documents_are_those_of_the_rewriter_itself(
    store: Any, trained: Trained, action: str
) -> None:
    rewriter = trained(action)
    over = chroma_retriever(store._collection, store.embeddings)
    by_id = {document.id: document for document in documents()}
    base = store.as_retriever(search_kwargs={"k": 5})

    found = RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(QUERIES[0])

    expected = rewriter.retrieve(QUERIES[0], k=5, retriever=over)
    assert expected.decision.action == action == latest().action
    assert [document.id for document in found] == list(expected.ranking.ids)
    assert found == [by_id[document.id] for document in found]
    assert found != base.invoke(QUERIES[0])


@pytest.mark.parametrize("action", [*ACTIONS, *FUSIONS])
@pytest.mark.parametrize("given", ["search_kwargs", "invoke", "configurable", "bind"])
def test_no_action_sees_another_tenant(
    store: Any, trained: Trained, searches: list[dict[str, Any]], action: str, given: str
) -> None:
    where = {"tenant": "b"}
    plain = store.as_retriever()
    rewriter = trained(action)
    searches.clear()
    if given == "search_kwargs":
        base = store.as_retriever(search_kwargs={"filter": where})
        found = RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(QUERIES[0])
    elif given == "invoke":
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=plain)
        found = wrapped.invoke(QUERIES[0], filter=where)
    elif given == "configurable":
        field = ConfigurableField(id="search")
        base = plain.configurable_fields(search_kwargs=field)
        found = RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(
            QUERIES[0], {"configurable": {"search": {"filter": where}}}
        )
    else:
        base = plain.bind(filter=where)
        found = RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(QUERIES[0])

    assert latest().action == action
    assert len(found) == 4
    assert {document.metadata["tenant"] for document in found} == {"b"}
    assert searches
    assert all(search.get("where") == where for search in searches)


@pytest.mark.parametrize("action", ["expand_3x5", "move_bm25_1@0.4", "fuse_bm25@0.4", BLEND])
def test_feedback_comes_from_the_tenants_own_documents(
    store: Any, trained: Trained, action: str
) -> None:
    """The other tenant's documents change nothing: not even what is moved toward or expanded by."""
    query, where = "what does the card cost?", {"tenant": "a"}
    wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=store.as_retriever())
    before = wrapped.invoke(query, filter=where)
    rewrite = latest().rewrite

    store.add_documents(
        [Document(page_content=f"{query} card {n}", metadata={"tenant": "b"}) for n in range(5)]
    )
    after = wrapped.invoke(query, filter=where)

    assert after == before
    assert latest().rewrite.texts == rewrite.texts
    assert str(latest().rewrite.vector) == str(rewrite.vector)
    assert latest().query.filters == Filters(where)


def test_the_callers_k_wins_over_ours_and_ours_over_the_bases(store: Any, trained: Trained) -> None:
    base = store.as_retriever(search_kwargs={"k": 2})
    rewriter = trained("fuse_bm25@0.4")

    assert len(RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke("card")) == 2
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base, k=3)
    assert len(wrapped.invoke("card")) == 3
    assert len(wrapped.invoke("card", k=5)) == 5


def test_a_mix_embeds_each_text_once(store: Any, trained: Trained) -> None:
    wrapped = RewritingRetriever(
        rewriter=trained("keywords@0.5"), base_retriever=store.as_retriever()
    )
    store.embeddings.embedded.clear()

    wrapped.invoke(QUERIES[0])

    assert store.embeddings.embedded == list(latest().rewrite.texts)
    assert len(store.embeddings.embedded) == 2


def test_bm25_index_is_opened_once_a_store(
    store: Any, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter, opened = trained("fuse_bm25@0.4"), []
    original = ChromaBm25._open
    lock = threading.Lock()

    def counted(self: ChromaBm25) -> Any:
        with lock:
            opened.append(self)
        return original(self)

    monkeypatch.setattr(ChromaBm25, "_open", counted)

    def ask(number: int) -> list[str | None]:
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
        return [document.id for document in wrapped.invoke(QUERIES[number % len(QUERIES)])]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))

    assert len(opened) == 1
    assert answers[: len(QUERIES)] * (24 // len(QUERIES)) == answers


def test_vector_stores_made_per_request_share_one_bm25_index(
    new_store: NewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [new_store(), new_store()]
    opened: list[ChromaBm25] = []
    original = ChromaBm25._open

    def counted(self: ChromaBm25) -> Any:
        opened.append(self)
        return original(self)

    monkeypatch.setattr(ChromaBm25, "_open", counted)
    stores[1].delete(["card"])
    over = chroma_retriever(stores[0]._collection, stores[0].embeddings)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(over, "fuse_bm25@0.4"))
    opened.clear()
    found = []
    for number in (0, 1, 0, 1):
        made = Chroma(
            stores[number]._collection.name, Embedder(), client=chromadb.EphemeralClient()
        )
        base = made.as_retriever(search_kwargs={"k": len(DOCUMENTS)})
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)
        found.append({document.id for document in wrapped.invoke("card")})
        assert latest().action == "fuse_bm25@0.4"
    assert len(opened) == 2
    assert found == [set(DOCUMENTS), set(DOCUMENTS) - {"card"}] * 2


def test_a_reset_collection_is_noticed(store: Any, trained: Trained) -> None:
    wrapped = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4"), base_retriever=store.as_retriever()
    )
    assert len(wrapped.invoke("card")) == 4

    store.reset_collection()
    store.add_documents([Document(page_content="the only card", id="new")])

    assert [document.id for document in wrapped.invoke("card")] == ["new"]
    assert latest().reason == "policy"


def test_other_vector_stores_search_mixes_by_vector() -> None:
    store = InMemoryVectorStore(Embedder())
    store.add_documents(documents())
    blending = TextOnly()
    blending.offers = Needs.BLEND
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(blending, "keywords@0.5"))
    base = store.as_retriever(search_kwargs={"k": 3})
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)

    found = wrapped.invoke(QUERIES[0])

    first, second = (Embedder().vector(text) for text in latest().rewrite.texts)
    mixed = (0.5 * first + 0.5 * second).tolist()
    assert latest().action == "keywords@0.5"
    assert found == store.similarity_search_by_vector(mixed, k=3)
    assert found != store.similarity_search(QUERIES[0], k=3)
    in_a = wrapped.invoke(QUERIES[0], filter=lambda document: document.metadata["tenant"] == "a")
    assert {document.metadata["tenant"] for document in in_a} == {"a"}


def test_a_blend_sees_the_conversation(store: Any, trained: Trained) -> None:
    """Given as messages: its turns are embedded with the question and scored by BM25."""
    wrapped = RewritingRetriever(rewriter=trained(BLEND), base_retriever=store.as_retriever())
    history = [HumanMessage("is there a warranty?"), AIMessage("For two years after delivery.")]
    alone = wrapped.invoke("and who pays for a repair?")
    without = latest().rewrite
    store.embeddings.embedded.clear()

    found = wrapped.invoke("and who pays for a repair?", history=history)

    together = "is there a warranty? and who pays for a repair?"
    assert together not in without.lexical_texts
    assert together in latest().rewrite.lexical_texts
    assert str(latest().rewrite.vector) != str(without.vector)
    asked = ["and who pays for a repair?", together, "For two years after delivery."]
    assert store.embeddings.embedded == asked
    assert latest().action == BLEND
    assert found != alone


def test_a_blend_is_masked_where_only_texts_are_searched(store: Any, trained: Trained) -> None:
    base = InMemoryVectorStore(Embedder())
    base.add_documents(documents())
    over = chroma_retriever(store._collection, store.embeddings)
    rewriter = RLQueryRewriter(over, checkpoint=trained(BLEND).checkpoint)
    RewritingRetriever(rewriter=rewriter, base_retriever=base.as_retriever()).invoke(QUERIES[0])
    assert latest().action != BLEND
    assert BLEND not in latest().probabilities
