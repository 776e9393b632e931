"""Retrievers that only take text, and the step that hands one on."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import InputError
from rl_rewriter.integrations.langchain import QueryRewriteRunnable, RewritingRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from tests.integration.langchain.parts import Echo, Trained, documents, latest
from tests.support import QUERIES

KEYWORDS = "money back card"


def test_the_rewrite_is_what_the_base_is_asked(trained_on_text: Trained) -> None:
    base = Echo()
    wrapped = RewritingRetriever(rewriter=trained_on_text(), base_retriever=base)

    [found] = wrapped.invoke(QUERIES[0], depth=7, k=2)

    assert base.asked == [(KEYWORDS, {"depth": 7, "k": 2})]
    assert found.page_content == KEYWORDS
    assert latest().reason == "policy"


@pytest.mark.parametrize("action", ["keywords", "top_idf_4", "history_last_user_in_front"])
def test_any_runnable_from_text_to_documents_can_be_wrapped(
    trained_on_text: Trained, action: str
) -> None:
    asked: list[str] = []

    def search(query: str) -> list[Any]:
        asked.append(query)
        return documents()

    wrapped = RewritingRetriever(
        rewriter=trained_on_text(action), base_retriever=RunnableLambda(search), k=2
    )

    assert wrapped.invoke(QUERIES[0], history=["I sent the shoes back"]) == documents()[:2]
    assert asked == [latest().rewrite.text]
    assert latest().action == action


def test_only_actions_that_make_one_text_are_possible(store: Any, trained: Trained) -> None:
    over = chroma_retriever(store._collection, store.embeddings)
    for action in ("keywords@0.5", "move_dense_1@0.4", "fuse_bm25@0.4", "expand_3x5"):
        rewriter = RLQueryRewriter(over, checkpoint=trained(action).checkpoint)
        base = Echo()

        RewritingRetriever(rewriter=rewriter, base_retriever=base).invoke(QUERIES[0])

        assert base.asked == [(QUERIES[0], {})]
        assert latest().reason == "policy"
        assert set(latest().probabilities) == {"keep", "keywords", "top_idf_4", "topic"}


def test_evidence_is_the_rewriters_own_unless_the_search_is_filtered(
    store: Any, trained: Trained
) -> None:
    over = chroma_retriever(store._collection, store.embeddings)
    rewriter = RLQueryRewriter(over, checkpoint=trained("keywords").checkpoint)
    base = Echo()
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)

    wrapped.invoke(QUERIES[0])
    assert (latest().reason, base.asked[-1][0]) == ("policy", KEYWORDS)
    wrapped.invoke(QUERIES[0], filter={"tenant": "a"})
    assert (latest().reason, base.asked[-1][0]) == ("fallback:missing_evidence", QUERIES[0])
    alone = RewritingRetriever(rewriter=trained("keywords"), base_retriever=base)
    alone.invoke(QUERIES[0])
    assert (latest().reason, base.asked[-1][0]) == ("fallback:missing_evidence", QUERIES[0])


@pytest.mark.parametrize("question", [QUERIES[0], {"input": QUERIES[0], "chat_history": []}])
async def test_the_step_hands_the_text_to_a_retriever(
    store: Any, trained_on_text: Trained, question: Any
) -> None:
    step = QueryRewriteRunnable(rewriter=trained_on_text())
    chain = step | store.as_retriever()

    assert step.invoke(question) == await step.ainvoke(question) == KEYWORDS
    assert latest().rewrite.text == KEYWORDS
    assert chain.invoke(question) == store.as_retriever().invoke(KEYWORDS)
    assert await chain.ainvoke(question) == chain.invoke(question)
    assert step.batch([question] * 3) == await step.abatch([question] * 3) == [KEYWORDS] * 3


def test_the_step_reads_the_history(trained_on_text: Trained) -> None:
    step = QueryRewriteRunnable(rewriter=trained_on_text("history_last_user_in_front"))
    history = [("human", "I sent the shoes back"), ("ai", "Thank you.")]

    assert step.invoke({"input": "and my money?"}) == "and my money?"
    expected = "I sent the shoes back and my money?"
    assert step.invoke({"input": "and my money?", "chat_history": history}) == expected
    assert step.invoke("and my money?", history=history) == expected


def test_an_untrained_step_changes_nothing() -> None:
    step = QueryRewriteRunnable(rewriter=RLQueryRewriter())
    for question in ("Hello", "", " ", "x" * 20_000):
        assert step.invoke(question) == question
    assert latest().reason == "untrained"


@pytest.mark.parametrize("wrong", [{"question": "x"}, 7, ["x"]])
def test_what_is_no_question_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"input|string"):
        QueryRewriteRunnable(rewriter=RLQueryRewriter()).invoke(wrong)
