"""What each kind of base retriever is searched for, and within which filters."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
from chromadb.errors import ChromaError
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQueryMode,
)

from rl_rewriter import Filters, RLQueryRewriter
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.integrations._llama_index_cache import CachedModel
from rl_rewriter.integrations.llama_index import RewritingRetriever, chat_history
from tests.integration.llama_index.parts import (
    QUESTION,
    TENANTS,
    RecordingRetriever,
    TokenEmbedding,
    checkpoint_for,
    chroma_index,
    decided,
    embedding_of,
    found,
    ids,
    of_words,
    over_chroma,
    retriever_over,
    simple_index,
    tenant,
)
from tests.support import DOCUMENTS, fixed_checkpoint

WORDS = "money back card"
"""What is left of the question by "keywords"."""
VECTOR_ACTIONS = ["expand_3x5", "keywords@0.5", "move_dense_3@0.4", "move_bm25_3@0.4"]
FUSED_ACTIONS = ["fuse_bm25@0.1", "fuse_bm25@0.6", BLEND]
HISTORY = ["Which cards do you take?", "All of them.", "And vouchers?", "One an order."]


@pytest.mark.parametrize("action", ["keywords", *VECTOR_ACTIONS, *FUSED_ACTIONS])
@pytest.mark.parametrize("filters", [None, tenant("a"), tenant("b")], ids=["all", "a", "b"])
@pytest.mark.parametrize("space", ["cosine", "l2"])
async def test_chroma_finds_what_our_own_retriever_finds(
    action: str, filters: MetadataFilters | None, space: str
) -> None:
    index = chroma_index(space=space)
    base = index.as_retriever(similarity_top_k=4, filters=filters)
    wrapped = RewritingRetriever(over_chroma(index, action), base)
    nodes = wrapped.retrieve(QUESTION)
    assert found(await wrapped.aretrieve(QUESTION)) == found(nodes)

    own = RLQueryRewriter(retriever_over(index), checkpoint=wrapped._rewriter.checkpoint)
    where = own_filter(filters)
    expected = own.retrieve(QUESTION, k=4, filters=where)
    assert decided().action == expected.decision.action == action
    assert ids(nodes) == list(expected.ranking.ids)
    if where is not None:
        assert {TENANTS[name] for name in ids(nodes)} == {where["tenant"]}
    scores = [node.get_score() for node in nodes]
    assert scores == sorted(scores, reverse=True)
    assert all(type(node.node) is TextNode for node in nodes)
    assert [node.node.get_content() for node in nodes] == [DOCUMENTS[name] for name in ids(nodes)]
    if action in FUSED_ACTIONS:
        np.testing.assert_allclose(scores, expected.ranking.scores, rtol=1e-5)
    elif space == "cosine":
        np.testing.assert_allclose(scores, np.exp(expected.ranking.scores - 1), rtol=1e-4)


@pytest.mark.parametrize("action", ["fuse_bm25@0.6", "move_bm25_3@0.4", "expand_3x5", BLEND])
def test_evidence_stays_within_the_filter(action: str) -> None:
    """Documents of another tenant pull the search nowhere: without them it is the same."""
    both, alone = chroma_index(), chroma_index()
    alone.vector_store.client.delete(ids=[name for name in DOCUMENTS if TENANTS[name] == "b"])
    checkpoint = checkpoint_for(both, action)
    results = []
    for index in (both, alone):
        base = index.as_retriever(similarity_top_k=3, filters=tenant("a"))
        nodes = RewritingRetriever(RLQueryRewriter(checkpoint=checkpoint), base).retrieve(QUESTION)
        results.append((ids(nodes), decided().rewrite.texts))
    assert results[0] == results[1]


def test_filters_are_translated_as_the_store_does() -> None:
    index = chroma_index()
    filters = MetadataFilters(
        filters=[
            MetadataFilter(key="tenant", value=["a", "c"], operator=FilterOperator.IN),
            MetadataFilter(key="tenant", value="b", operator=FilterOperator.NE),
        ]
    )
    base = index.as_retriever(similarity_top_k=12, filters=filters)
    nodes = RewritingRetriever(over_chroma(index, "fuse_bm25@0.6"), base).retrieve(QUESTION)
    assert decided().query.filters == Filters(
        where={"$and": [{"tenant": {"$in": ["a", "c"]}}, {"tenant": {"$ne": "b"}}]}
    )
    assert sorted(ids(nodes)) == sorted(name for name in DOCUMENTS if TENANTS[name] == "a")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"vector_store_query_mode": VectorStoreQueryMode.MMR}, "query_mode"),
        ({"node_ids": ["refund", "card"]}, "restricted_ids"),
        ({"doc_ids": ["refund"]}, "restricted_ids"),
        (
            {"vector_store_kwargs": {"ids": ["refund"]}},
            "search_kwargs",
        ),
    ],
)
async def test_what_is_left_alone_over_chroma(settings: dict[str, Any], reason: str) -> None:
    index = chroma_index()
    base = VectorIndexRetriever(index, similarity_top_k=3, **settings)
    wrapped = RewritingRetriever(over_chroma(index, "keywords"), base)
    expected = found(base.retrieve(QUESTION))
    assert found(wrapped.retrieve(QUESTION)) == expected
    assert found(await wrapped.aretrieve(QUESTION)) == expected
    assert decided().reason == f"fallback:{reason}"
    assert decided().policy_version == wrapped._rewriter.policy_version


def test_where_in_the_store_s_own_arguments_counts() -> None:
    index = chroma_index()
    base = index.as_retriever(
        similarity_top_k=12,
        vector_store_kwargs={
            "where": {"tenant": "b"},
            "where_document": {"$contains": "account"},
        },
    )
    nodes = RewritingRetriever(over_chroma(index, "fuse_bm25@0.6"), base).retrieve(QUESTION)
    assert sorted(ids(nodes)) == ["account", "invoice", "return"]
    assert decided().reason == "policy"


def test_filters_that_chroma_cannot_express_are_left_to_the_store() -> None:
    index = chroma_index()
    filters = MetadataFilters(
        filters=[MetadataFilter(key="tenant", value="a", operator=FilterOperator.TEXT_MATCH)]
    )
    base = index.as_retriever(filters=filters)
    with pytest.raises(ValueError, match="not supported"):
        base.retrieve(QUESTION)
    with pytest.raises(ValueError, match="not supported"):
        RewritingRetriever(over_chroma(index, "keywords"), base).retrieve(QUESTION)


def test_index_nodes_of_a_fused_ranking_lead_where_they_lead_without_us() -> None:
    index = chroma_index()
    hidden = IndexNode.from_text_node(
        TextNode(id_="pointer", text="Money back on the card: see the details."), "details"
    )
    index.insert_nodes([hidden])
    details = NodeWithScore(node=TextNode(id_="details", text="All about refunds."), score=1.0)
    base = VectorIndexRetriever(index, similarity_top_k=3, object_map={"details": details})
    bare = ids(base.retrieve("money back card details"))
    nodes = RewritingRetriever(over_chroma(index, "fuse_bm25@0.1"), base).retrieve(
        "money back card details"
    )
    assert decided().action == "fuse_bm25@0.1"
    assert "details" in bare
    assert "details" in ids(nodes)


async def test_other_vector_stores_are_searched_by_texts_and_mixes() -> None:
    index = simple_index()
    base = index.as_retriever(similarity_top_k=3, filters=tenant("a"))
    model = embedding_of(index)
    for action, expected in [
        ("keywords", QueryBundle(WORDS)),
        (
            "keywords@0.5",
            QueryBundle(
                QUESTION,
                embedding=np.mean(
                    [model.get_query_embedding(text) for text in (QUESTION, WORDS)], axis=0
                ).tolist(),
            ),
        ),
    ]:
        wrapped = RewritingRetriever(of_words(action), base)
        nodes = wrapped.retrieve(QUESTION)
        assert ids(nodes) == ids(base.retrieve(expected))
        assert ids(await wrapped.aretrieve(QUESTION)) == ids(nodes)
        assert decided().action == action
        assert {TENANTS[name] for name in ids(nodes)} == {"a"}


def test_a_mixed_history_is_searched_by_one_vector() -> None:
    index = simple_index()
    base = index.as_retriever(similarity_top_k=12)
    wrapped = RewritingRetriever(of_words("history_each_turn@0.5"), base)
    with chat_history(HISTORY):
        nodes = wrapped.retrieve("and then?")
    model = embedding_of(index)
    mixed = 0.5 * np.asarray(model.get_query_embedding("and then?")) + 0.5 * np.mean(
        [model.get_query_embedding(text) for text in HISTORY], axis=0
    )
    assert ids(nodes) == ids(base.retrieve(QueryBundle("and then?", embedding=mixed.tolist())))


async def test_any_other_retriever_gets_one_text() -> None:
    base = RecordingRetriever()
    wrapped = RewritingRetriever(of_words("keywords"), base)
    wrapped.retrieve(QueryBundle(QUESTION, custom_embedding_strs=[QUESTION]))
    await wrapped.aretrieve(QUESTION)
    assert base.bundles == [QueryBundle(WORDS)] * 2
    assert decided().rewrite.text == WORDS


@pytest.mark.parametrize(
    ("make", "possible"),
    [
        (lambda: RecordingRetriever(), {"keep", "keywords", "top_idf_4", "topic"}),
        (
            lambda: simple_index().as_retriever(),
            {"keep", "keywords", "top_idf_4", "topic"}
            | {"keywords@0.5", "top_idf_4@0.5", "topic@0.3"},
        ),
    ],
)
def test_what_a_base_cannot_do_is_not_drawn(make: Any, possible: set[str]) -> None:
    """The policy was made for Chroma and looks there; the base decides what may be done."""
    index = chroma_index()
    own = retriever_over(index)
    rewriter = RLQueryRewriter(own, checkpoint=fixed_checkpoint(own, "move_dense_3@0.4"), seed=3)
    wrapped = RewritingRetriever(rewriter, make(), explore=True)
    drawn = set()
    for _ in range(40):
        wrapped.retrieve(QUESTION)
        decision = decided()
        assert decision.reason == "explored"
        assert set(decision.probabilities) == possible
        assert sum(decision.probabilities.values()) == pytest.approx(1.0)
        assert decision.propensity == decision.probabilities[decision.action]
        drawn.add(decision.action)
    assert len(drawn) > 1


def test_filters_inside_another_retriever_keep_the_policy_from_looking_elsewhere() -> None:
    index = chroma_index()
    own = retriever_over(index)
    rewriter = RLQueryRewriter(own, checkpoint=fixed_checkpoint(own, "keywords"))
    for filters, reason in [(None, "policy"), (tenant("a"), "fallback:missing_evidence")]:
        base = QueryFusionRetriever(
            [index.as_retriever(filters=filters)], num_queries=1, use_async=False, llm=MockLLM()
        )
        RewritingRetriever(rewriter, base).retrieve(QUESTION)
        assert decided().reason == reason


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (VectorStoreQueryMode.MMR, "fallback:query_mode"),
        (VectorStoreQueryMode.HYBRID, "policy"),
    ],
)
def test_query_modes_of_other_stores(mode: VectorStoreQueryMode, reason: str) -> None:
    base = simple_index().as_retriever(vector_store_query_mode=mode)
    wrapped = RewritingRetriever(of_words("keywords"), base)
    try:
        wrapped.retrieve(QUESTION)
    except ValueError:  # this store knows no hybrid search; the decision is what matters here
        pass
    else:
        assert decided().reason == reason


def test_a_retriever_of_one_s_own_is_not_bypassed() -> None:
    class Reversed(VectorIndexRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            assert query_bundle.embedding is None
            return super()._retrieve(query_bundle)[::-1]

    index = chroma_index()
    base = Reversed(index, similarity_top_k=4)
    nodes = RewritingRetriever(of_words("keywords"), base).retrieve(QUESTION)
    assert ids(nodes) == ids(base.retrieve(WORDS))


def test_nodes_that_the_index_keeps_beside_chroma_are_no_restriction() -> None:
    index = chroma_index(store_nodes=True)
    base = index.as_retriever(similarity_top_k=3)
    assert isinstance(base, VectorIndexRetriever)
    assert base._node_ids
    RewritingRetriever(over_chroma(index, "keywords"), base).retrieve(QUESTION)
    assert decided().reason == "policy"


def test_retrievers_made_per_request_share_one_bm25_index(monkeypatch: pytest.MonkeyPatch) -> None:
    index = chroma_index()
    rewriter = over_chroma(index, "fuse_bm25@0.6")
    reads: list[Any] = []
    collection_class = type(index.vector_store.client)
    get = collection_class.get

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        reads.append(kwargs.get("offset"))
        return get(self, *args, **kwargs)

    monkeypatch.setattr(collection_class, "get", counted)
    for name in ("a", "b", "a"):
        base = index.as_retriever(filters=tenant(name))
        RewritingRetriever(rewriter, base).retrieve(QUESTION)
        assert decided().action == "fuse_bm25@0.6"
    RewritingRetriever(copy.deepcopy(rewriter), base).retrieve(QUESTION)
    assert decided().action == "fuse_bm25@0.6"
    assert reads.count(0) == 1


@pytest.mark.parametrize("before", [0, 1])
def test_a_wrong_size_is_not_kept_where_no_collection_tells_the_right_one(before: int) -> None:
    model = TokenEmbedding(model_name="tokens-1")
    cached = CachedModel(model, ServingCache())
    for _ in range(before):
        cached.get_agg_embedding_from_queries(["a"])
    sizes = []
    for wrong, text in ((1, "b"), (0, "c"), (0, "b"), (0, "b")):
        model._embedder.dimensions = 32 - wrong
        sizes.append(len(cached.get_agg_embedding_from_queries([text])))
    assert sizes == [31, 32, 32, 32]
    assert model.embedded[-1] == "b"


def test_an_embedding_of_the_wrong_size_is_not_kept() -> None:
    index = chroma_index()
    model = embedding_of(index)
    model.model_name = "tokens-1"  # of models without a name nothing is kept
    wrapped = RewritingRetriever(over_chroma(index, "fuse_bm25@0.6"), index.as_retriever())
    model._embedder.dimensions -= 1
    with pytest.raises(ChromaError):  # the base's own search, by the same embedding
        wrapped.retrieve(QUESTION)
    model._embedder.dimensions += 1
    assert wrapped.retrieve(QUESTION)
    assert decided().action == "fuse_bm25@0.6"


@pytest.mark.parametrize("tag", [False, True])
async def test_documents_carry_the_decision_only_when_asked(tag: bool) -> None:
    shared = [NodeWithScore(node=node, score=1.0) for node in map(_text_node, "ab")]
    base: BaseRetriever = RecordingRetriever(lambda text: list(shared))
    wrapped = RewritingRetriever(of_words("keywords"), base, tag_documents=tag)
    for is_async in (False, True):
        nodes = await wrapped.aretrieve(QUESTION) if is_async else wrapped.retrieve(QUESTION)
        marks = [node.node.metadata.get("rl_rewriter_decision_id") for node in nodes]
        assert marks == [decided().id if tag else None] * 2
        assert [node.node.get_content("llm") for node in nodes] == ["text of a", "text of b"]
    assert all(not node.node.metadata for node in shared)


def own_filter(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """A tenant's filter in Chroma's language."""
    if filters is None:
        return None
    [only] = filters.filters
    assert isinstance(only, MetadataFilter)
    return {only.key: only.value}


def _text_node(name: str) -> TextNode:
    return TextNode(id_=name, text=f"text of {name}")


def test_a_blend_sees_the_conversation() -> None:
    index = chroma_index()
    wrapped = RewritingRetriever(over_chroma(index, BLEND), index.as_retriever(similarity_top_k=4))
    wrapped.retrieve(QUESTION)
    without = decided().rewrite
    embedding_of(index).embedded.clear()
    with chat_history(
        [
            ChatMessage(role="user", content="which cards do you take?"),
            ChatMessage(role="assistant", content="All of them."),
        ]
    ):
        wrapped.retrieve(QUESTION)
    together = f"which cards do you take? {QUESTION}"
    assert decided().action == BLEND
    assert together not in without.lexical_texts
    assert together in decided().rewrite.lexical_texts
    assert str(decided().rewrite.vector) != str(without.vector)
    assert set(embedding_of(index).embedded) <= {QUESTION, together, "All of them."}
    assert {together, "All of them."} <= set(embedding_of(index).embedded)


def test_a_blend_of_vectors_alone_is_a_search_by_vector() -> None:
    """Without words there is nothing to fuse: the base itself searches, by the blended vector."""
    index = chroma_index()
    plain = checkpoint_for(index, BLEND)
    [blend] = plain.blends
    lexical = [view.kind == "lexical" for view in blend.views]
    bias = np.where(lexical, np.float32(-30.0), blend.head.bias)
    blend = dataclasses.replace(blend, head=dataclasses.replace(blend.head, bias=bias))
    actions = ActionSpace((*plain.actions.actions[:-1], blend))
    checkpoint = dataclasses.replace(plain, actions=actions)
    wrapped = RewritingRetriever(
        RLQueryRewriter(checkpoint=checkpoint), index.as_retriever(similarity_top_k=4)
    )
    nodes = wrapped.retrieve(QUESTION)
    expected = RLQueryRewriter(retriever_over(index), checkpoint=checkpoint).retrieve(QUESTION, k=4)
    assert decided().rewrite.lexical_weight == 0.0
    assert ids(nodes) == list(expected.ranking.ids)


def test_a_blend_is_masked_where_only_texts_are_searched() -> None:
    index, base = chroma_index(), RecordingRetriever()
    rewriter = RLQueryRewriter(retriever_over(index), checkpoint=checkpoint_for(index, BLEND))
    RewritingRetriever(rewriter, base).retrieve(QUESTION)
    assert decided().action != BLEND
    assert BLEND not in decided().probabilities
