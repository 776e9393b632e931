"""Faults that other query rewriters for LlamaIndex have: none of them is here.

Each is tested where its part is, or here where the whole engine shows it:

1.  No async: ``test_event_loop``, ``test_kept::test_as_the_bare_retriever``.
2.  Preamble, numbers, blank lines become queries: here; ``tests/unit/text/test_llm_output``.
3.  A small change of the LLM's format breaks the parser: here; the same unit tests.
4.  Filters are dropped: ``test_rewritten``, ``tests/integration/test_two_tenants``; here for a
    store of another kind, and for node and document ids.
5.  Weights of a fusion are ignored: here.
6.  Async blocks the event loop: ``test_event_loop::test_the_loop_is_free``.
7.  "Hello" becomes a question: here.
8.  Copies of a node whose metadata differ, metadata overwritten: here.
9.  Equal queries are searched twice: here; ``test_kept::test_a_kept_query_is_embedded_once``.
10. No top k after fusion: here.
11. Empty output finds nothing, an LLM's error fails the chain, one failing part kills the fusion:
    here; ``test_failures``.
12. The old text is embedded, scores are lost, a copy doesn't work: here;
    ``test_transform::test_the_text_is_replaced_and_what_belonged_to_it_dropped``.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import llama_index.core.instrumentation as instrument
import pytest
from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # not in its __all__
    instrument_tags,
)
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.retrievers import TransformRetriever, VectorIndexRetriever
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.integrations.llama_index import (
    QueryRewriteTransform,
    RewritingRetriever,
    chat_history,
)
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Needs
from tests.integration.llama_index import parts
from tests.integration.llama_index.parts import (
    QUESTION,
    TENANTS,
    RecordingRetriever,
    chroma_index,
    decided,
    embedding_of,
    found,
    ids,
    logged,
    simple_index,
    tenant,
)
from tests.support import DOCUMENTS, fixed_checkpoint

HISTORY = ["Which cards do you take?", "All of them.", "And vouchers?", "One an order."]
FUSED = ("fuse_bm25@0.1", "fuse_bm25@0.6", "history_last_user_in_front+bm25@0.4")
WORDS = "money back card"
UNHURRIED = Budget(seconds=60.0)
"""A slow machine changes no answer."""


def of_llm(answer: str | Exception) -> RLQueryRewriter:
    """A rewriter that always asks a language model, which always answers the same."""

    def ask(_: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    actions = ActionSpace((Keep(), LlmRewrite(ask, name="llm")))
    checkpoint = fixed_checkpoint(TextOnly(), "llm", actions=actions)
    return RLQueryRewriter(checkpoint=checkpoint, budget=UNHURRIED)


over_chroma = partial(parts.over_chroma, budget=UNHURRIED)
of_words = partial(parts.of_words, budget=UNHURRIED)


@pytest.mark.parametrize(
    "output",
    [
        "Here are 3 versions:\n\n1. refund to card\n \t \n2. money back\n\n3. card refund\n",
        "Sure! Here's the rewritten query:\n\n**refund to card**\n\nLet me know if it helps!",
        '```json\n{"queries": ["refund to card", "money back"]}\n```',
        "1) refund to card\r\n2) money back",
    ],
)
def test_what_an_llm_says_around_its_rewrite_is_never_searched(output: str) -> None:
    """Faults 2 and 3."""
    base = RecordingRetriever()
    RewritingRetriever(of_llm(output), base).retrieve(QUESTION)
    assert base.asked == ["refund to card"]
    assert QueryRewriteTransform(of_llm(output))(QUESTION).query_str == "refund to card"


@pytest.mark.parametrize(
    "answer",
    ["", " \n\n\t", "Here are 3 versions:", "I'm sorry, but I can't help.", TimeoutError("slow")],
    ids=["empty", "blank", "preamble_alone", "refusal", "error"],
)
async def test_an_llm_that_gives_nothing_or_fails_costs_no_node(answer: str | Exception) -> None:
    """Fault 11: the question is searched as it is, once."""
    base = RecordingRetriever()
    wrapped = RewritingRetriever(of_llm(answer), base)
    assert ids(wrapped.retrieve(QUESTION)) == ["n"]
    assert ids(await wrapped.aretrieve(QUESTION)) == ["n"]
    assert base.asked == [QUESTION] * 2


def test_one_failing_part_of_a_fusion_does_not_kill_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 11: without BM25, the wrapped retriever's nodes."""

    def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError("the index is gone")

    index = chroma_index()
    base = index.as_retriever(similarity_top_k=4)
    wrapped = RewritingRetriever(over_chroma(index, "fuse_bm25@0.6"), base)
    monkeypatch.setattr(Bm25Index, "scores", fail)
    assert found(wrapped.retrieve(QUESTION)) == found(base.retrieve(QUESTION))
    assert decided().reason.startswith("fallback:")


@pytest.mark.parametrize("action", ["keywords", "keywords@0.5", "history_user_turns@0.5"])
@pytest.mark.parametrize(
    "filters",
    [
        tenant("a"),
        MetadataFilters(filters=list(tenant("b").filters), condition=FilterCondition.NOT),
        MetadataFilters(
            filters=[
                MetadataFilter(key="tenant", value=["a", "c"], operator=FilterOperator.IN),
                MetadataFilter(key="tenant", value="x", operator=FilterOperator.EQ),
            ],
            condition=FilterCondition.OR,
        ),
    ],
    ids=["equal", "not", "or"],
)
async def test_filters_of_another_store_are_passed_on(
    action: str, filters: MetadataFilters
) -> None:
    """Fault 4."""
    base = simple_index().as_retriever(similarity_top_k=4, filters=filters)
    wrapped = RewritingRetriever(of_words(action), base)
    with chat_history(HISTORY):
        nodes = wrapped.retrieve(QUESTION)
        assert found(await wrapped.aretrieve(QUESTION)) == found(nodes)
    assert decided().action == action
    assert {TENANTS[name] for name in ids(nodes)} == {"a"}
    assert len(nodes) == 4


@pytest.mark.parametrize("action", ["keywords", "keywords@0.5"])
def test_a_condition_that_chroma_lacks_is_the_stores_to_answer(action: str) -> None:
    """Fault 4: a filter that can't be carried out is an error, as it is without us."""
    nobody = MetadataFilters(filters=list(tenant("b").filters), condition=FilterCondition.NOT)
    index = chroma_index()
    base = index.as_retriever(filters=nobody)
    for retriever in (base, RewritingRetriever(over_chroma(index, action), base)):
        with pytest.raises(ValueError, match="not supported"):
            retriever.retrieve(QUESTION)


@pytest.mark.parametrize("action", ["keywords", "keywords@0.5"])
def test_nodes_that_a_retriever_is_bound_to_stay_the_only_ones(action: str) -> None:
    """Fault 4: node ids are passed on as filters are."""
    only = ["refund", "card", "voucher"]
    base = VectorIndexRetriever(simple_index(), similarity_top_k=12, node_ids=only)
    wrapped = RewritingRetriever(of_words(action), base)
    assert sorted(ids(wrapped.retrieve(QUESTION))) == sorted(only)
    assert decided().action == action


def test_the_weight_of_a_fusion_counts() -> None:
    """Fault 5."""
    index = chroma_index()
    base = index.as_retriever(similarity_top_k=12)
    light, heavy = (
        ids(RewritingRetriever(over_chroma(index, action), base).retrieve(QUESTION))
        for action in ("fuse_bm25@0.1", "fuse_bm25@0.6")
    )
    assert sorted(light) == sorted(heavy) == sorted(DOCUMENTS)
    assert light != heavy


@pytest.mark.parametrize("action", default_actions(~Needs.SPELLING).names)
async def test_hello_stays_hello(action: str) -> None:
    """Fault 7: whatever the policy prefers, also in the middle of a conversation."""
    index = chroma_index()
    base = index.as_retriever(similarity_top_k=4)
    wrapped = RewritingRetriever(over_chroma(index, action), base)
    expected = found(base.retrieve("Hello"))
    with chat_history(HISTORY):
        assert found(wrapped.retrieve("Hello")) == expected
        assert decided().rewrite.texts == ("Hello",)
        assert found(await wrapped.aretrieve("Hello")) == expected


@pytest.mark.parametrize("action", ["keep", "expand_3x5", "move_bm25_3@0.4", *FUSED])
def test_equal_texts_keep_their_own_metadata_and_come_once_each(action: str) -> None:
    """Fault 8: two pages that say the same are two nodes; one page is never two."""
    index = chroma_index()
    twin = TextNode(id_="twin", text=DOCUMENTS["refund"], metadata={"page": 7})
    index.insert_nodes([twin])
    base = index.as_retriever(similarity_top_k=13)
    with chat_history(HISTORY):
        nodes = RewritingRetriever(over_chroma(index, action), base).retrieve(QUESTION)
    assert decided().action == action
    assert sorted(ids(nodes)) == sorted([*DOCUMENTS, "twin"])
    for node in nodes:
        name = node.node.node_id
        assert node.node.metadata == ({"page": 7} if name == "twin" else {"tenant": TENANTS[name]})


def test_an_llm_that_repeats_the_question_leads_to_one_search() -> None:
    """Fault 9."""
    base = RecordingRetriever()
    RewritingRetriever(of_llm(f"1. {QUESTION}\n2. {QUESTION}"), base).retrieve(QUESTION)
    assert base.asked == [QUESTION]


@pytest.mark.parametrize("action", FUSED)
@pytest.mark.parametrize("k", [1, 3])
async def test_k_holds_after_fusion(action: str, k: int) -> None:
    """Fault 10."""
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, action), index.as_retriever(similarity_top_k=k))
    with chat_history(HISTORY):
        assert len(wrapped.retrieve(QUESTION)) == k
        assert len(await wrapped.aretrieve(QUESTION)) == k
    assert decided().action == action


@pytest.mark.parametrize("asked", [QUESTION, QueryBundle(QUESTION)], ids=["string", "bundle"])
@pytest.mark.parametrize("kind", ["retriever", "transform"])
def test_the_rewrite_is_what_is_embedded(asked: Any, kind: str) -> None:
    """Fault 12: a string that becomes a bundle brings its own words as texts to embed."""
    index = simple_index()
    base, rewriter = index.as_retriever(), of_words("keywords")
    retriever: Any = RewritingRetriever(rewriter, base)
    if kind == "transform":
        retriever = TransformRetriever(base, QueryRewriteTransform(rewriter))
    embedding_of(index).embedded.clear()
    retriever.retrieve(asked)
    assert embedding_of(index).embedded == [WORDS]
    bundle = QueryRewriteTransform(rewriter).run(asked)
    assert bundle.embedding_strs == [WORDS]


def root_dispatcher() -> Any:
    return instrument.get_dispatcher()  # type: ignore[attr-defined]  # not in its __all__


class Scores(BaseEventHandler):
    """Keeps the scores of all nodes that were reported, and the tags."""

    heard: list[list[float | None]] = Field(default_factory=list)
    tags: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Scores"

    def handle(self, event: Any, **kwargs: Any) -> None:
        if isinstance(event, RetrievalEndEvent):
            self.heard.append([node.score for node in event.nodes])
            self.tags.append(event.tags)


@pytest.mark.parametrize("action", ["keep", "keywords", "fuse_bm25@0.6"])
async def test_tags_of_a_block_are_on_all_events(action: str) -> None:
    """Fault 4: what a caller says about a request is said of the search inside it too."""
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, action), index.as_retriever())
    dispatcher, heard = root_dispatcher(), Scores()
    dispatcher.add_event_handler(heard)
    try:
        with instrument_tags({"tenant": "a"}):
            wrapped.retrieve(QUESTION)
            await wrapped.aretrieve(QUESTION)
    finally:
        dispatcher.event_handlers.remove(heard)
    assert heard.tags == [{"tenant": "a"}] * 4


@pytest.mark.parametrize("action", ["keep", "keywords@0.5", "move_dense_3@0.4", "fuse_bm25@0.6"])
def test_scores_reach_events_and_the_log(action: str, tmp_path: Path) -> None:
    """Fault 12."""
    index, log = chroma_index(), tmp_path / "log.jsonl"
    base = index.as_retriever(similarity_top_k=4)
    wrapped = RewritingRetriever(over_chroma(index, action, log=log), base)
    dispatcher, scores = root_dispatcher(), Scores()
    dispatcher.add_event_handler(scores)
    try:
        nodes = wrapped.retrieve(QUESTION)
    finally:
        dispatcher.event_handlers.remove(scores)
    expected = [node.score for node in nodes]
    assert None not in expected
    assert scores.heard == [expected] * 2
    [record] = logged(log)
    assert [document["score"] for document in record["documents"]] == expected


def pickled(retriever: Any) -> Any:
    return pickle.loads(pickle.dumps(retriever))


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_a_copy_works_with_its_policy_and_its_log(
    copied: Callable[[Any], Any], tmp_path: Path
) -> None:
    """Fault 12: an engine can be sent to another process, or copied by a framework."""
    log = tmp_path / "log.jsonl"
    rewriter = of_words("keywords@0.5", log=log)
    wrapped = RewritingRetriever(rewriter, simple_index().as_retriever())
    twin = copied(wrapped)
    assert found(twin.retrieve(QUESTION)) == found(wrapped.retrieve(QUESTION))
    transform = copied(QueryRewriteTransform(of_words("keywords", log=log)))
    assert transform(QUESTION).query_str == WORDS
    records = logged(log)
    assert [record["action"] for record in records] == ["keywords@0.5"] * 2 + ["keywords"]
    assert len({record["id"] for record in records}) == 3
