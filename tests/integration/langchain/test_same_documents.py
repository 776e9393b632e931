"""A kept question returns what the bare retriever returns, at the price of one search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import RewritingRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from tests.integration.langchain.parts import Echo, Embedder, NewStore, Trained, latest
from tests.support import NASTY_TEXTS, QUERIES, fixed_checkpoint

SEARCHES: list[dict[str, Any]] = [
    {},
    {"k": 1},
    {"k": 12},
    {"k": 50},
    {"filter": {"tenant": "a"}},
    {"filter": {"$and": [{"tenant": "b"}, {"n": {"$gt": 4}}]}, "k": 3},
    {"where_document": {"$contains": "account"}},
]

ODD = [*(text for text in NASTY_TEXTS if len(text) < 50_000), "x" * 20_000, "Hello"]


@pytest.mark.parametrize("search_kwargs", SEARCHES)
@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[2]])
def test_untrained_is_the_bare_retriever(
    store: Any, search_kwargs: dict[str, Any], query: str
) -> None:
    base = store.as_retriever(search_kwargs=search_kwargs)
    wrapped = RewritingRetriever(rewriter=RLQueryRewriter(), base_retriever=base)

    assert wrapped.invoke(query) == base.invoke(query)
    assert latest().reason == "untrained"


@pytest.mark.parametrize("search_kwargs", SEARCHES)
@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[2]])
def test_kept_is_the_bare_retriever(
    store: Any, trained: Trained, search_kwargs: dict[str, Any], query: str
) -> None:
    base = store.as_retriever(search_kwargs=search_kwargs)
    wrapped = RewritingRetriever(rewriter=trained("keep"), base_retriever=base)

    assert wrapped.invoke(query) == base.invoke(query)
    assert latest().action == "keep"
    assert wrapped.invoke(query, k=2) == base.invoke(query, k=2)


@pytest.mark.parametrize("query", ODD)
@pytest.mark.parametrize("action", ["keep", "keywords", "fuse_bm25@0.4"])
def test_odd_questions_fail_where_the_bare_retriever_fails_and_nowhere_else(
    store: Any, trained: Trained, query: str, action: str
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)
    try:
        expected = base.invoke(query)
    except Exception as error:
        with pytest.raises(type(error)):
            wrapped.invoke(query)
        return

    found = wrapped.invoke(query)

    assert len(found) == len(expected)
    if latest().action == "keep":
        assert found == expected


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
def test_same_order_in_every_space_and_at_every_vector_length(
    new_store: NewStore, space: str
) -> None:
    store = new_store(space=space, embedder=Embedder(scale=37.3))
    rng = np.random.default_rng(0)
    words = [word for text in QUERIES for word in text.split()]
    base = store.as_retriever(search_kwargs={"k": 12})
    policy = fixed_checkpoint(chroma_retriever(store._collection, store.embeddings), "keep")
    wrapped = RewritingRetriever(rewriter=RLQueryRewriter(checkpoint=policy), base_retriever=base)

    for _ in range(40):
        query = " ".join(rng.choice(words, size=rng.integers(1, 9)))
        assert wrapped.invoke(query) == base.invoke(query)
        assert latest().reason == "policy"


def test_kept_costs_one_embedding_and_one_search(
    store: Any, trained: Trained, searches: list[dict[str, Any]]
) -> None:
    wrapped = RewritingRetriever(rewriter=trained("keep"), base_retriever=store.as_retriever())
    store.embeddings.embedded.clear()
    searches.clear()

    wrapped.invoke(QUERIES[0])

    assert store.embeddings.embedded == [QUERIES[0]]
    assert len(searches) == 1
    assert searches[0]["n_results"] == 10


def test_a_rewrite_equal_to_the_question_is_not_searched_again(
    store: Any, trained: Trained, searches: list[dict[str, Any]]
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained("keywords"), base_retriever=base)
    searches.clear()

    found = wrapped.invoke("refund card")

    assert latest().action == "keywords"
    assert len(searches) == 1
    assert found == base.invoke("refund card")


def test_a_policy_that_looks_at_words_alone_adds_no_search(
    store: Any, trained_on_text: Trained, searches: list[dict[str, Any]]
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained_on_text("keep"), base_retriever=base)
    store.embeddings.embedded.clear()

    found = wrapped.invoke(QUERIES[0])

    assert (len(searches), store.embeddings.embedded) == (1, [QUERIES[0]])
    assert "include" not in searches[0]  # the store's own search, not ours
    assert found == base.invoke(QUERIES[0])


def test_entries_without_text_are_left_out_as_the_store_does(store: Any, trained: Trained) -> None:
    store._collection.add(
        ids=["no-text"], embeddings=[store.embeddings.vector(QUERIES[0]).tolist()]
    )
    store.add_documents([Document(page_content="", id="empty-text")])
    base = store.as_retriever(search_kwargs={"k": 14})
    wrapped = RewritingRetriever(rewriter=trained("keep"), base_retriever=base)

    found = wrapped.invoke(QUERIES[0])

    assert found == base.invoke(QUERIES[0])
    assert {"empty-text"} <= {document.id for document in found}
    assert "no-text" not in {document.id for document in found}


def test_the_callers_objects_are_never_changed(store: Any, trained: Trained) -> None:
    where = {"tenant": "a"}
    base = store.as_retriever(search_kwargs={"k": 3, "filter": where}, tags=["mine"])
    before = base.model_dump(exclude={"vectorstore"})
    history = ["what does the card cost?", "nothing"]
    kwargs = {"filter": {"tenant": "b"}}
    wrapped = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4"), base_retriever=base, tag_documents=True
    )

    wrapped.invoke(QUERIES[0], history=history, **kwargs)

    assert base.model_dump(exclude={"vectorstore"}) == before
    assert where == {"tenant": "a"}
    assert kwargs == {"filter": {"tenant": "b"}}
    assert history == ["what does the card cost?", "nothing"]


def test_tags_are_on_copies(trained_on_text: Trained) -> None:
    kept = Document(page_content="text", metadata={"own": 1})
    wrapped = RewritingRetriever(
        rewriter=trained_on_text(), base_retriever=Echo(document=kept), tag_documents=True
    )

    [found] = wrapped.invoke(QUERIES[0])

    assert found.metadata == {"own": 1, "rl_rewriter_decision_id": latest().id}
    assert kept.metadata == {"own": 1}
