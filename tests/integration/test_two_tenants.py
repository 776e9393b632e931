"""Nothing outside a filter is ever served, and nothing outside it can change what is done inside.

The second rule is the strong one: documents that a filter keeps out may say every word of the
question, lie at the question's own vector, come, go and change as they like; the decision, what the
policy saw, the rewrite's texts and vector and the documents stay as they were, to the last digit.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from string import ascii_lowercase
from typing import Any

import chromadb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_chroma import Chroma
from langchain_core.runnables import ConfigurableField
from llama_index.core import VectorStoreIndex
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.chroma.base import _to_chroma_filter

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.actions.space import default_actions
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Filters, Needs, Rewrite, RewriteDecision
from tests.filters import METADATA, WHERE, Metadata, lets_through, where_document
from tests.integration.langchain.parts import Embedder
from tests.integration.llama_index.parts import TokenEmbedding
from tests.support import (
    DOCUMENTS,
    add_documents,
    blend_checkpoint,
    chroma_collection,
    fixed_checkpoint,
)

QUESTION = "could you please tell me how I get my money back on the card?"
HISTORY = ["Which cards do you take?", "All of them.", "And vouchers?", "One an order."]
ACTIONS = (*default_actions(~Needs.SPELLING).names, BLEND)
K = 4
WORDS = ("card", "account", "week", "the")
TEXTS = {
    f"{name}-{copy}": f"{text} copy{copy} {WORDS[(number + copy) % 4]}"
    for number, (name, text) in enumerate(DOCUMENTS.items())
    for copy in range(2)
}
DOCUMENT_FILTERS = st.none() | where_document(WORDS)
FILTERS = st.builds(Filters, WHERE, DOCUMENT_FILTERS)
ALIKE = " ".join(f"card{one} {one}card money{one} {one}money" for one in ascii_lowercase)
"""More words spelt like two of the question than can stand for one of them."""
BAIT = st.lists(
    st.tuples(
        st.sampled_from(
            [QUESTION, f"{QUESTION} money card", "money back card money", "week", ALIKE]
        ),
        METADATA,
    ),
    min_size=1,
    max_size=12,
)
"""Documents made to be found: all of the question's words, or the question itself."""


@dataclass(frozen=True)
class Answer:
    """All that could tell one search from another."""

    action: str
    reason: str
    state: tuple[float, ...] | None
    rewrite: Rewrite
    found: tuple[tuple[str, float | None, str], ...]

    @classmethod
    def of(cls, decision: RewriteDecision, found: list[tuple[str, float | None, str]]) -> Answer:
        return cls(decision.action, decision.reason, decision.state, decision.rewrite, tuple(found))


Ask = Callable[[Checkpoint, Filters], Answer]


@lru_cache
def collection() -> Any:
    return chroma_collection({})


@lru_cache
def checkpoint(action: str) -> Checkpoint:
    """Trained on the small corpus; term weights are fixed from then on."""
    trained_on = chroma_retriever(chroma_collection(), Embedder())
    if action == BLEND:
        return blend_checkpoint(trained_on)
    return fixed_checkpoint(trained_on, action)


def rewriter_of(checkpoint: Checkpoint, retriever: Retriever | None = None) -> RLQueryRewriter:
    """Without a limit of time: a slow machine changes no answer."""
    return RLQueryRewriter(retriever, checkpoint=checkpoint, budget=Budget(seconds=None))


def by_itself(checkpoint: Checkpoint, filters: Filters) -> Answer:
    rewriter = rewriter_of(checkpoint, chroma_retriever(collection(), Embedder()))
    found = rewriter.retrieve(QUESTION, k=K, filters=filters, history=HISTORY)
    documents = found.ranking
    rows = zip(documents.ids, documents.scores.tolist(), documents.texts or (), strict=True)
    return Answer.of(found.decision, list(rows))


def arguments(filters: Filters) -> dict[str, Any]:
    where_document = filters.where_document
    return {"filter": filters.where} | (
        {"where_document": where_document} if where_document else {}
    )


@lru_cache
def vector_store() -> Chroma:
    return Chroma(
        collection_name=collection().name,
        client=chromadb.EphemeralClient(),
        embedding_function=Embedder(),
        create_collection_if_not_exists=False,
    )


def over_langchain(
    checkpoint: Checkpoint, filters: Filters, *, given: str, is_async: bool = False
) -> Answer:
    restriction = arguments(filters)
    store = copy.copy(vector_store())  # an object of its own, as one made for the request
    ChromaBm25.shared(collection()).refresh()
    base: Any = store.as_retriever()
    config: dict[str, Any] = {}
    kwargs: dict[str, Any] = {}
    if given == "search_kwargs":
        base = store.as_retriever(search_kwargs=restriction)
    elif given == "bind":
        base = base.bind(**restriction)
    elif given == "configurable":
        base = base.configurable_fields(search_kwargs=ConfigurableField(id="search"))
        config = {"configurable": {"search": restriction}}
    else:
        kwargs = restriction
    wrapped = langchain.RewritingRetriever(rewriter=rewriter_of(checkpoint), base_retriever=base)
    if is_async:

        async def ask() -> tuple[Any, Any]:
            found = await wrapped.ainvoke(QUESTION, config, history=HISTORY, **kwargs)
            return found, langchain.last_decision.get()

        documents, decision = asyncio.run(ask())
    else:
        documents = wrapped.invoke(QUESTION, config, history=HISTORY, **kwargs)
        decision = langchain.last_decision.get()
    return Answer.of(decision, [(str(d.id), None, d.page_content) for d in documents])


def over_llama_index(
    checkpoint: Checkpoint, settings: Mapping[str, Any], *, is_async: bool = False
) -> Answer:
    index = VectorStoreIndex.from_vector_store(
        ChromaVectorStore.from_collection(collection()), embed_model=TokenEmbedding()
    )
    base = index.as_retriever(similarity_top_k=K, **settings)
    ChromaBm25.shared(collection()).refresh()
    wrapped = llama_index.RewritingRetriever(rewriter_of(checkpoint), base)

    async def ask() -> tuple[Any, Any]:
        return await wrapped.aretrieve(QUESTION), llama_index.last_decision.get()

    with llama_index.chat_history(HISTORY):
        if is_async:
            nodes, decision = asyncio.run(ask())
        else:
            nodes, decision = wrapped.retrieve(QUESTION), llama_index.last_decision.get()
    return Answer.of(decision, [(n.node.node_id, n.score, n.node.get_content()) for n in nodes])


def by_its_own_arguments(checkpoint: Checkpoint, filters: Filters) -> Answer:
    given = {"where": filters.where, "where_document": filters.where_document}
    settings = {name: value for name, value in given.items() if value is not None}
    return over_llama_index(checkpoint, {"vector_store_kwargs": settings})


def over_langchain_by(given: str, *, is_async: bool = False) -> Ask:
    return partial(over_langchain, given=given, is_async=is_async)


WAYS: Mapping[str, Ask] = {
    "python": by_itself,
    "langchain_search_kwargs": over_langchain_by("search_kwargs"),
    "langchain_filter": over_langchain_by("invoke"),
    "langchain_filter_async": over_langchain_by("invoke", is_async=True),
    "langchain_configurable": over_langchain_by("configurable"),
    "langchain_bind": over_langchain_by("bind"),
    "llama_index_where": by_its_own_arguments,
}


def fill(metadata: Sequence[Metadata]) -> dict[str, Metadata]:
    """The corpus with this metadata, and nothing else."""
    stored = collection().get(include=[])["ids"]
    if stored:
        collection().delete(ids=stored)
    add_documents(collection(), TEXTS, metadatas=metadata)
    return dict(zip(TEXTS, metadata, strict=True))


def disturb(metadata: Mapping[str, Metadata], filters: Filters, bait: Any, n_gone: int) -> None:
    """Change whatever the filter keeps out, and nothing that it lets through."""
    outside = [
        name for name, text in TEXTS.items() if not lets_through(filters, text, metadata[name])
    ]
    if outside[:n_gone]:
        collection().delete(ids=outside[:n_gone])
    rewritten = [
        name
        for name in outside[n_gone:]
        if not lets_through(filters, f"{QUESTION} {name}", metadata[name])
    ]
    vector = Embedder().embed_query(QUESTION)
    if rewritten:
        collection().update(
            ids=rewritten,
            documents=[f"{QUESTION} {name}" for name in rewritten],
            embeddings=[vector] * len(rewritten),
        )
    kept_out = [(text, told) for text, told in bait if not lets_through(filters, text, told)]
    if kept_out:
        collection().add(
            ids=[f"bait-{row}" for row in range(len(kept_out))],
            documents=[text for text, _ in kept_out],
            embeddings=[vector] * len(kept_out),
            metadatas=[told for _, told in kept_out],
        )


def check(
    action: str, asks: Sequence[Ask], metadata: Sequence[Metadata], filters: Filters, bait: Any
) -> None:
    told = fill(metadata)
    inside = {name for name, text in TEXTS.items() if lets_through(filters, text, told[name])}
    before = [ask(checkpoint(action), filters) for ask in asks]
    disturb(told, filters, bait, n_gone=len(bait) // 2)
    after = [ask(checkpoint(action), filters) for ask in asks]
    for answer, later in zip(before, after, strict=True):
        assert {name for name, _, _ in answer.found} <= inside
        assert len(answer.found) == min(K, len(inside))
        assert answer.action == action
        assert answer.reason == "policy"
        assert later == answer


METADATA_OF_ALL = st.lists(METADATA, min_size=len(TEXTS), max_size=len(TEXTS))


@settings(max_examples=20)
@given(st.sampled_from(ACTIONS), METADATA_OF_ALL, FILTERS, BAIT)
def test_random_filters(action: str, metadata: list[Metadata], filters: Filters, bait: Any) -> None:
    check(action, list(WAYS.values()), metadata, filters, bait)


def metadata_filters(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[MetadataFilters]:
    return st.builds(
        lambda condition, parts: MetadataFilters(filters=parts, condition=condition),
        st.sampled_from([FilterCondition.AND, FilterCondition.OR]),
        st.lists(inner, min_size=1, max_size=3),
    )


CONDITIONS = st.one_of(
    st.builds(
        lambda value, operator: MetadataFilter(key="tenant", value=value, operator=operator),
        st.sampled_from("abc"),
        st.sampled_from([FilterOperator.EQ, FilterOperator.NE]),
    ),
    st.builds(
        lambda values, operator: MetadataFilter(key="tenant", value=values, operator=operator),
        st.lists(st.sampled_from("abc"), min_size=1),
        st.sampled_from([FilterOperator.IN, FilterOperator.NIN]),
    ),
    st.builds(
        lambda year, operator: MetadataFilter(key="year", value=year, operator=operator),
        st.integers(2019, 2024),
        st.sampled_from(
            [FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE]
        ),
    ),
)


@settings(max_examples=20)
@given(
    st.sampled_from(ACTIONS),
    METADATA_OF_ALL,
    metadata_filters(CONDITIONS | metadata_filters(CONDITIONS)),
    BAIT,
    st.booleans(),
)
def test_random_filters_of_llama_index(
    action: str, metadata: list[Metadata], filters: MetadataFilters, bait: Any, is_async: bool
) -> None:
    def ask(checkpoint: Checkpoint, _: Filters) -> Answer:
        return over_llama_index(checkpoint, {"filters": filters}, is_async=is_async)

    check(action, [ask], metadata, Filters(_to_chroma_filter(filters)), bait)


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_over_every_way(action: str) -> None:
    """One tenant's filter, and a second tenant who copies the question."""
    metadata = [
        {"tenant": "ab"[row % 2], "year": 2020 + row % 4, "open": row % 3 == 0}
        for row in range(len(TEXTS))
    ]
    bait = [(QUESTION, {"tenant": "b", "year": 2021, "open": True})] * 8
    filters = Filters({"tenant": "a"})
    check(action, list(WAYS.values()), metadata, filters, bait)


def test_the_second_tenant_would_be_felt_without_the_filter() -> None:
    """That the rule can fail: the same changes, unfiltered, move nearly every action."""
    metadata = [{"tenant": "ab"[row % 2], "year": 2020, "open": True} for row in range(len(TEXTS))]
    bait = [(QUESTION, {"tenant": "b", "year": 2021, "open": True})] * 8
    for action in ("move_dense_3@0.4", "move_bm25_3@0.4", "expand_3x5", "fuse_bm25@0.6", BLEND):
        told = fill(metadata)
        before = by_itself(checkpoint(action), Filters())
        disturb(told, Filters({"tenant": "a"}), bait, n_gone=2)
        after = by_itself(checkpoint(action), Filters())
        assert after.found != before.found
        assert after.state != before.state
