"""Faults that other query rewriters for LangChain have: none of them is here.

Each is tested where its part is, or here where the whole chain shows it:

1.  No async: ``test_async``, ``test_composition::test_batches_and_threads_answer_as_single_calls``.
2.  Preamble, numbers, blank lines become queries: here; ``tests/unit/text/test_llm_output``.
3.  A small change of the LLM's format breaks the parser: here; the same unit tests.
4.  ``invoke(q, filter=...)`` is dropped: ``test_vector_actions``,
    ``test_nested``, ``tests/integration/test_two_tenants``; here for stores of other kinds.
5.  Weights of a fusion are ignored: here; ``tests/unit/retrieval/test_hybrid``.
6.  Async blocks the event loop: ``test_async``.
7.  "Hello" becomes a question: here; ``tests/unit/text/test_small_talk``.
8.  Copies of a document whose metadata differ, metadata overwritten: here.
9.  Equal queries are searched twice: here;
    ``test_same_documents::test_a_rewrite_equal_to_the_question_is_not_searched_again``.
10. No top k after fusion: here; ``test_vector_actions``.
11. Empty output finds nothing, an LLM's error fails the chain, one failing part kills the fusion:
    here; ``test_failures``; ``tests/unit/actions/test_llm``.
12. Not serialisable, scores are lost: here. The old text is embedded:
    ``tests/integration/llama_index/test_known_faults``.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps
from langchain_core.runnables import RunnableLambda, RunnablePassthrough, RunnableSequence
from langchain_core.vectorstores import InMemoryVectorStore

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.integrations.langchain import (
    HistoryAwareRewritingRetriever,
    QueryRewriteRunnable,
    RewritingRetriever,
    create_history_aware_rewriting_retriever,
)
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Needs
from tests.integration.langchain.parts import Echo, Embedder, Trained, documents, latest
from tests.support import QUERIES, fixed_checkpoint

QUESTION = QUERIES[0]
UNHURRIED = Budget(seconds=60.0)
"""A slow machine changes no answer."""
HISTORY = ["Which cards do you take?", "All of them.", "And vouchers?", "One an order."]
FUSED = ("fuse_bm25@0.1", "fuse_bm25@0.6", "history_last_user_in_front+bm25@0.4")


def of_llm(answer: str | Exception) -> RLQueryRewriter:
    """A rewriter that always asks a language model, which always answers the same."""

    def ask(_: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    actions = ActionSpace((Keep(), LlmRewrite(ask, name="llm")))
    checkpoint = fixed_checkpoint(TextOnly(), "llm", actions=actions)
    return RLQueryRewriter(checkpoint=checkpoint, budget=UNHURRIED)


@pytest.fixture
def trained(trained: Trained) -> Trained:
    return partial(trained, budget=UNHURRIED)


@pytest.fixture
def trained_on_text(trained_on_text: Trained) -> Trained:
    return partial(trained_on_text, budget=UNHURRIED)


@pytest.mark.parametrize(
    "output",
    [
        "refund to card",
        "Here are 3 versions:\n\n1. refund to card\n \t \n2. money back\n\n3. card refund\n",
        "Sure! Here's the rewritten query:\n\n**refund to card**\n\nLet me know if it helps!",
        "<think>They want money.</think>\n- refund to card\n- money back",
        '```json\n{"queries": ["refund to card", "money back"]}\n```',
        '{"query": "refund to card"',
        'Query 1: "refund to card"\r\nQuery 2: "money back"',
        "1) refund to card\n2) money back",
    ],
)
def test_what_an_llm_says_around_its_rewrite_is_never_searched(output: str) -> None:
    """Faults 2 and 3."""
    base = Echo()
    RewritingRetriever(rewriter=of_llm(output), base_retriever=base).invoke(QUESTION)
    assert base.asked == [("refund to card", {})]
    assert latest().action == "llm"


@pytest.mark.parametrize(
    "answer",
    ["", " \n\n\t", "Here are 3 versions:", "I'm sorry, but I can't help.", TimeoutError("slow")],
    ids=["empty", "blank", "preamble_alone", "refusal", "error"],
)
async def test_an_llm_that_gives_nothing_or_fails_costs_no_document(
    answer: str | Exception,
) -> None:
    """Fault 11: the question is searched as it is, once."""
    base = Echo()
    wrapped = RewritingRetriever(rewriter=of_llm(answer), base_retriever=base)
    expected = Echo().invoke(QUESTION)
    assert wrapped.invoke(QUESTION) == expected
    assert await wrapped.ainvoke(QUESTION) == expected
    assert base.asked == [(QUESTION, {})] * 2


def test_one_failing_part_of_a_fusion_does_not_kill_it(
    store: Any, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 11: without BM25, the wrapped retriever's documents."""

    def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError("the index is gone")

    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained("fuse_bm25@0.6"), base_retriever=base)
    monkeypatch.setattr(Bm25Index, "scores", fail)
    assert wrapped.invoke(QUESTION) == base.invoke(QUESTION)
    assert latest().reason.startswith("fallback:")


def filtered_memory() -> InMemoryVectorStore:
    memory = InMemoryVectorStore(Embedder())
    memory.add_documents(documents())
    return memory


def of_tenant_a(document: Document) -> bool:
    return bool(document.metadata["tenant"] == "a")


@pytest.mark.parametrize("action", ["keywords", "keywords@0.5", "history_user_turns@0.5"])
@pytest.mark.parametrize("given", ["invoke", "search_kwargs", "bind"])
async def test_a_filter_function_of_another_store_is_passed_on(
    trained_on_blends: Trained, action: str, given: str
) -> None:
    """Fault 4: whatever a filter looks like, it reaches every search."""
    base: Any = filtered_memory().as_retriever()
    kwargs: dict[str, Any] = {"filter": of_tenant_a} if given == "invoke" else {}
    if given == "search_kwargs":
        base = filtered_memory().as_retriever(search_kwargs={"filter": of_tenant_a})
    elif given == "bind":
        base = base.bind(filter=of_tenant_a)
    wrapped = RewritingRetriever(rewriter=trained_on_blends(action), base_retriever=base)
    found = wrapped.invoke(QUESTION, history=HISTORY, **kwargs)
    assert latest().action == action
    assert len(found) == 4
    assert all(map(of_tenant_a, found))
    assert await wrapped.ainvoke(QUESTION, history=HISTORY, **kwargs) == found


@pytest.fixture
def trained_on_blends() -> Trained:
    """Makes rewriters for stores that can search mixes of texts."""

    class Blender(TextOnly):
        offers = Needs.BLEND

    def make(action: str, **settings: Any) -> RLQueryRewriter:
        checkpoint = fixed_checkpoint(Blender(), action)
        return RLQueryRewriter(checkpoint=checkpoint, budget=UNHURRIED, **settings)

    return make


def test_every_keyword_of_any_retriever_is_passed_on(trained_on_text: Trained) -> None:
    """Fault 4: namespaces, filters and whatever else a store knows, as the same objects."""
    base = Echo()
    given = {"namespace": "tenant-a", "filter": {"a": [1]}, "pre_filter": of_tenant_a, "ids": None}
    wrapped = RewritingRetriever(rewriter=trained_on_text("keywords"), base_retriever=base)
    wrapped.invoke(QUESTION, **given)
    [(asked, passed)] = base.asked
    assert asked == latest().rewrite.text != QUESTION
    assert passed == given
    assert all(passed[name] is value for name, value in given.items())


def test_the_weight_of_a_fusion_counts(store: Any, trained: Trained) -> None:
    """Fault 5."""
    base = store.as_retriever(search_kwargs={"k": 12})
    orders = []
    for action in ("fuse_bm25@0.1", "fuse_bm25@0.6"):
        wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)
        orders.append([document.id for document in wrapped.invoke(QUESTION)])
    assert sorted(map(str, orders[0])) == sorted(map(str, orders[1]))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("action", default_actions(~Needs.SPELLING).names)
async def test_hello_stays_hello(store: Any, trained: Trained, action: str) -> None:
    """Fault 7: whatever the policy prefers, also in the middle of a conversation."""
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)
    for text in ("Hello", "Thanks, that was great!", "谢谢"):
        assert wrapped.invoke(text, history=HISTORY) == base.invoke(text)
        rewrite = latest().rewrite
        assert (rewrite.texts, rewrite.lexical_weight) == ((text,), 0.0)
        assert await wrapped.ainvoke(text, history=HISTORY) == base.invoke(text)


@pytest.mark.parametrize("action", ["keep", "expand_3x5", "move_bm25_3@0.4", *FUSED])
def test_equal_texts_keep_their_own_metadata_and_come_once_each(
    store: Any, trained: Trained, action: str
) -> None:
    """Fault 8: two pages that say the same are two documents; one page is never two."""
    twin = "Money is refunded to the card within five days after a return."
    store.add_documents(
        [Document(page_content=twin, id="twin", metadata={"tenant": "b", "page": 7})]
    )
    base = store.as_retriever(search_kwargs={"k": 13})
    wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)
    found = wrapped.invoke(QUESTION, history=HISTORY)
    assert latest().action == action
    assert len({document.id for document in found}) == len(found) == 13
    assert sorted(found, key=lambda d: str(d.id)) == sorted(
        base.invoke(QUESTION), key=lambda d: str(d.id)
    )


@pytest.mark.parametrize("echoed", [QUESTION, f"1. {QUESTION}\n2. {QUESTION}"])
def test_an_llm_that_repeats_the_question_leads_to_one_search(echoed: str) -> None:
    """Fault 9."""
    base = Echo()
    RewritingRetriever(rewriter=of_llm(echoed), base_retriever=base).invoke(QUESTION)
    assert base.asked == [(QUESTION, {})]


@pytest.mark.parametrize("action", FUSED)
@pytest.mark.parametrize("k", [1, 3])
async def test_k_holds_after_fusion(store: Any, trained: Trained, action: str, k: int) -> None:
    """Fault 10."""
    base = store.as_retriever(search_kwargs={"k": k})
    wrapped = RewritingRetriever(rewriter=trained(action), base_retriever=base)
    assert len(wrapped.invoke(QUESTION, history=HISTORY)) == k
    assert len(await wrapped.ainvoke(QUESTION, history=HISTORY)) == k
    assert latest().action == action


def chains(rewriter: RLQueryRewriter) -> dict[str, Any]:
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo())
    step = QueryRewriteRunnable(rewriter=rewriter)
    return {
        "retriever": wrapped,
        "step": step,
        "history": create_history_aware_rewriting_retriever(rewriter, Echo()),
        "chain": RunnableSequence(RunnablePassthrough(), step, wrapped),
    }


@pytest.mark.parametrize("part", ["retriever", "step", "history", "chain"])
def test_tracers_can_serialise_it(trained_on_text: Trained, tmp_path: Path, part: str) -> None:
    """Fault 12: plain JSON, named like any retriever, without the policy or what the log holds."""
    rewriter = trained_on_text(log=tmp_path / "decisions.jsonl")
    runnable = chains(rewriter)[part]
    serialised = dumpd(runnable)
    assert json.loads(dumps(runnable)) == serialised
    assert runnable.to_json()["lc"] == 1
    assert len(json.dumps(serialised)) < 20_000
    if part != "chain":
        assert serialised["id"][-1] == type(runnable).__name__


def pickled(chain: Any) -> Any:
    return pickle.loads(pickle.dumps(chain))


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("part", ["retriever", "step", "history", "chain"])
def test_a_copy_works_with_its_policy_and_its_log(
    trained_on_text: Trained, tmp_path: Path, part: str, copied: Callable[[Any], Any]
) -> None:
    """Fault 12: a chain can be sent to another process, or copied by a framework."""
    log = tmp_path / "decisions.jsonl"
    chain = chains(trained_on_text("keywords", log=log, seed=1))[part]
    question = (
        {"input": QUESTION} if isinstance(chain, HistoryAwareRewritingRetriever) else QUESTION
    )
    twin = copied(chain)
    expected = chain.invoke(question)
    assert twin.invoke(question) == expected
    written = [each.decision for each in read_interactions(log)]
    assert len(written) == (4 if part == "chain" else 2)
    assert len({record["id"] for record in written}) == len(written)
    assert len({record["policy_version"] for record in written}) == 1


def test_scores_reach_the_log(store: Any, trained: Trained, tmp_path: Path) -> None:
    """Fault 12: LangChain's documents have no place for a score; the decision's record has."""
    log = tmp_path / "decisions.jsonl"
    for action in ("keep", "move_dense_3@0.4", "fuse_bm25@0.6"):
        wrapped = RewritingRetriever(
            rewriter=trained(action, log=log), base_retriever=store.as_retriever()
        )
        wrapped.invoke(QUESTION)
    for interaction in read_interactions(log):
        scores = [document["score"] for document in interaction.decision["documents"]]
        assert len(scores) == 4
        assert scores == sorted(scores, reverse=True)


def test_a_filter_deep_inside_another_retriever_keeps_the_policy_from_looking_elsewhere(
    store: Any, trained: Trained
) -> None:
    """Fault 4: evidence of the rewriter's own, unfiltered retriever is another tenant's too."""

    class Reordered(Echo):
        inner: Any

        def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
            return list(reversed(self.inner.invoke(query)))

    filtered = store.as_retriever(search_kwargs={"filter": {"tenant": "a"}})
    rewriter = RLQueryRewriter(
        chroma_retriever(store._collection, store.embeddings),
        checkpoint=trained("keywords").checkpoint,
        budget=UNHURRIED,
    )
    for base in (
        Reordered(inner=filtered),
        filtered.with_retry(),
        filtered.with_fallbacks([filtered]),
        filtered | RunnableLambda(lambda found: list(reversed(found))),
    ):
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)
        found = wrapped.invoke(QUESTION)
        assert {document.metadata["tenant"] for document in found} == {"a"}
        assert latest().reason == "fallback:missing_evidence", type(base)
