"""In chains, batches, threads and with the framework's own ways of changing a runnable."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnablePassthrough, RunnableSequence

from rl_rewriter.errors import InputError
from rl_rewriter.integrations.langchain import (
    QueryRewriteRunnable,
    RewritingRetriever,
    create_history_aware_rewriting_retriever,
)
from rl_rewriter.logs.store import read_interactions
from tests.integration.langchain.parts import Echo, Recorder, Trained, latest
from tests.support import QUERIES

PROMPT = ChatPromptTemplate.from_template("Answer from {context}: {question}")


async def test_a_chain_end_to_end(store: Any, trained: Trained, tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    retriever = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4", log=log), base_retriever=store.as_retriever()
    )
    llm = FakeListLLM(responses=["Within five days."])
    chain = {"context": retriever, "question": RunnablePassthrough()} | PROMPT | llm
    recorder = Recorder()

    assert chain.invoke(QUERIES[0], {"callbacks": [recorder]}) == "Within five days."
    assert await chain.ainvoke(QUERIES[0]) == "Within five days."
    assert chain.batch(list(QUERIES)) == ["Within five days."] * len(QUERIES)

    decisions = [entry.decision for entry in read_interactions(log)]
    assert len(decisions) == 2 + len(QUERIES)
    assert {decision["action"] for decision in decisions} == {"fuse_bm25@0.4"}
    assert decisions[0]["id"] == str(recorder.started[0]["run_id"])
    assert [d["id"] for d in decisions[0]["documents"]] == recorder.ended[0][1]


HISTORY: list[Any] = [
    [HumanMessage("I sent the shoes back"), AIMessage("Thank you.")],
    [SystemMessage("Be kind."), HumanMessage([{"type": "text", "text": "I sent the shoes back"}])],
    [("user", "I sent the shoes back"), ("assistant", "Thank you.")],
    [{"role": "user", "content": "I sent the shoes back"}],
    ["I sent the shoes back", "Thank you."],
]


@pytest.mark.parametrize("history", HISTORY)
async def test_history_is_ours_and_not_the_bases(trained_on_text: Trained, history: Any) -> None:
    rewriter, base = trained_on_text("history_last_user_in_front"), Echo()
    expected = "I sent the shoes back and my money?"
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)
    aware = create_history_aware_rewriting_retriever(rewriter, base, tag_documents=True)
    turn = {"input": "and my money?", "chat_history": history}

    assert wrapped.invoke("and my money?", history=history)[0].page_content == expected
    assert (await wrapped.ainvoke("and my money?", history=history))[0].page_content == expected
    assert aware.invoke(turn, depth=3)[0].metadata["rl_rewriter_decision_id"] == latest().id
    assert (await aware.ainvoke(turn))[0].page_content == expected
    assert aware.batch([turn, {"input": "Hello"}])[1][0].page_content == "Hello"
    assert [kwargs for _, kwargs in base.asked] == [{}, {}, {"depth": 3}, {}, {}, {}]


def test_a_history_aware_retriever_names_a_missing_key(trained_on_text: Trained) -> None:
    aware = create_history_aware_rewriting_retriever(trained_on_text(), Echo())
    with pytest.raises(InputError, match='needs the key "input", got: question'):
        aware.invoke({"question": "x"})


async def test_batches_and_threads_answer_as_single_calls(store: Any, trained: Trained) -> None:
    wrapped = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4"), base_retriever=store.as_retriever()
    )
    queries = [f"{query} {n}" for n in range(6) for query in QUERIES]
    single = [wrapped.invoke(query) for query in queries]

    assert wrapped.batch(queries, {"max_concurrency": 8}) == single
    assert await wrapped.abatch(queries) == single
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(wrapped.invoke, queries)) == single


def test_config_and_configurable_fields(store: Any, trained: Trained) -> None:
    wrapped = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4"), base_retriever=store.as_retriever()
    )
    recorder = Recorder()
    named = wrapped.with_config({"run_name": "asks", "tags": ["t"], "callbacks": [recorder]})
    flexible = wrapped.configurable_fields(
        k=ConfigurableField(id="k"), tag_documents=ConfigurableField(id="tagged")
    )

    assert named.invoke(QUERIES[0]) == wrapped.invoke(QUERIES[0])
    assert (recorder.started[0]["name"], recorder.started[0]["tags"]) == ("asks", ["t"])
    assert recorder.started[1]["name"] == "VectorStoreRetriever"
    found = flexible.invoke(QUERIES[0], {"configurable": {"k": 2, "tagged": True}})
    assert len(found) == 2
    assert all("rl_rewriter_decision_id" in document.metadata for document in found)
    assert flexible.invoke(QUERIES[0]) == wrapped.invoke(QUERIES[0])


def test_the_bases_own_config_is_kept(store: Any, trained: Trained) -> None:
    for action in ("keep", "keywords", "fuse_bm25@0.4"):
        recorder = Recorder()
        base = store.as_retriever().with_config(
            {"run_name": "inner", "tags": ["bound"], "callbacks": [recorder]}
        )
        wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)

        wrapped.invoke(QUERIES[0])

        assert latest().action == action
        assert [start["name"] for start in recorder.started] == ["inner"]
        assert "bound" in recorder.started[0]["tags"]


def test_a_chain_with_it_can_be_pickled(trained_on_text: Trained, tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    rewriter = trained_on_text(log=log, seed=1)
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo())
    step = QueryRewriteRunnable(rewriter=rewriter)
    chain: RunnableSequence[Any, Any] = RunnablePassthrough() | step | wrapped

    copy = pickle.loads(pickle.dumps(chain))

    assert copy.invoke(QUERIES[0]) == chain.invoke(QUERIES[0])
    assert len(read_interactions(log)) == 4
