"""The component: decide, retrieve, record, save, load, and never more searches than needed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rl_rewriter
from rl_rewriter import ActionSpace, Filters, Query, Rewrite, RLQueryRewriter, Turn
from rl_rewriter.actions.keep import Keep
from rl_rewriter.errors import CheckpointError, CollectionError, InputError
from rl_rewriter.logs.store import DecisionLog, read_interactions, read_records
from rl_rewriter.policies.retrieving import searched
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.types import Ranking, ScoredDocument
from tests.support import (
    DOCUMENTS,
    QUERIES,
    Shout,
    TokenEmbedder,
    chroma_collection,
    fixed_checkpoint,
)

TENANTS = [{"tenant": "ab"[row % 2]} for row in range(len(DOCUMENTS))]


class Counted(HybridRetriever):
    """Records what is searched in a real retriever, and fails on demand."""

    def __init__(self, retriever: HybridRetriever, failing: frozenset[str] = frozenset()) -> None:
        super().__init__(retriever.base, retriever._index)
        self.searched: list[Rewrite] = []
        self.failing = failing

    def search(self, rewrites: Sequence[Rewrite], **settings: Any) -> list[Ranking]:
        self.searched.extend(rewrites)
        if any(text in self.failing for rewrite in rewrites for text in rewrite.texts):
            raise CollectionError("the store is down")
        return super().search(rewrites, **settings)


@pytest.fixture
def embedder() -> TokenEmbedder:
    return TokenEmbedder()


@pytest.fixture
def retriever(embedder: TokenEmbedder, tmp_path: Path) -> Counted:
    collection = chroma_collection(metadatas=TENANTS)
    return Counted(chroma_retriever(collection, embedder, cache_dir=tmp_path / "cache"))


@pytest.fixture
def lexical() -> Bm25Retriever:
    return Bm25Retriever(DOCUMENTS)


def trained(retriever: Any, action: str, **settings: Any) -> RLQueryRewriter:
    checkpoint = fixed_checkpoint(retriever, action)
    if isinstance(retriever, Counted):
        retriever.searched.clear()
    return RLQueryRewriter.from_retriever(retriever, checkpoint=checkpoint, **settings)


@pytest.mark.parametrize("explore", [False, True])
def test_untrained_every_decision_is_keep(retriever: Counted, explore: bool) -> None:
    rewriter = RLQueryRewriter.from_retriever(retriever)
    for query in (*QUERIES, "", "x" * 100_000):
        decision = rewriter.decide(query, explore=explore)
        assert (decision.action, decision.reason) == ("keep", "untrained")
        assert decision.rewrite == Rewrite((query,))
        assert (decision.propensity, decision.probabilities) == (1.0, {"keep": 1.0})
    assert rewriter.policy_version == "untrained"
    assert rewriter.checkpoint is None
    assert retriever.searched == []


def test_untrained_retrieval_is_the_retrievers_own(retriever: Counted) -> None:
    found = RLQueryRewriter.from_retriever(retriever).retrieve(QUERIES[0], k=3)
    [own] = retriever.search([Rewrite((QUERIES[0],))], k=3, with_documents=True)
    assert (found.ranking.ids, found.ranking.texts) == (own.ids, own.texts)


def test_without_a_retriever(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(lexical, "keywords"))
    decision = rewriter.decide(QUERIES[0])
    assert (decision.reason, decision.action) == ("fallback:no_retriever", "keep")
    assert rewriter.decide(QUERIES[0], retriever=lexical).action == "keywords"
    with pytest.raises(InputError, match="has no retriever; construct it with from_chroma"):
        rewriter.retrieve("q")
    with pytest.raises(InputError, match="has no retriever"):
        RLQueryRewriter().actions  # noqa: B018


def test_a_kept_query_costs_one_embedding_and_one_search(
    retriever: Counted, embedder: TokenEmbedder
) -> None:
    rewriter = trained(retriever, "keep")
    embedder.embedded.clear()
    for k in (3, 12):
        found = rewriter.retrieve(QUERIES[0], k=k)
        assert found.decision.action == "keep"
        assert embedder.embedded == [QUERIES[0]]
        assert len(retriever.searched) == 1
        [own] = retriever.base.search([Rewrite((QUERIES[0],))], k=k, with_documents=True)
        assert (found.ranking.ids, found.ranking.texts) == (own.ids, own.texts)
        assert found.ranking.metadatas == own.metadatas
        embedder.embedded.clear()
        retriever.searched.clear()


@pytest.mark.parametrize(
    ("action", "embedded", "searches"),
    [
        ("keywords", 2, 2),
        ("keywords@0.5", 2, 2),
        ("move_dense_1@0.4", 1, 2),
        ("move_bm25_3@0.2", 1, 2),
        ("fuse_bm25@0.4", 1, 2),
        ("expand_3x5", 2, 2),
    ],
)
def test_no_text_is_embedded_twice(
    retriever: Counted, embedder: TokenEmbedder, action: str, embedded: int, searches: int
) -> None:
    rewriter = trained(retriever, action)
    embedder.embedded.clear()
    found = rewriter.retrieve(QUERIES[0], k=5)
    assert found.decision.action == action
    assert (len(embedder.embedded), len(retriever.searched)) == (embedded, searches)
    assert embedder.embedded[0] == QUERIES[0]
    assert len(set(embedder.embedded)) == embedded
    assert len(found.ranking) == 5


@pytest.mark.parametrize(
    "action", ["keywords@0.5", "keywords", "fuse_bm25@0.4", "move_dense_1@0.4"]
)
def test_what_is_retrieved_is_what_was_decided(retriever: Counted, action: str) -> None:
    rewriter = trained(retriever, action)
    found = rewriter.retrieve(QUERIES[0], k=5)
    [own] = retriever.search([found.decision.rewrite], k=5, with_documents=True)
    assert (found.ranking.ids, found.ranking.texts) == (own.ids, own.texts)
    np.testing.assert_allclose(found.ranking.scores, own.scores, atol=1e-5)


def test_an_action_with_nothing_to_do_serves_the_first_ranking(retriever: Counted) -> None:
    found = trained(retriever, "keywords").retrieve("refund", k=4)
    assert found.decision.action == "keywords"
    assert len(retriever.searched) == 1
    assert len(found.ranking) == 4


def test_a_search_that_fails_for_the_rewrite_serves_the_query(
    retriever: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    rewriter = trained(retriever, "keywords")
    rewrite = rewriter.decide(QUERIES[0]).rewrite
    retriever.searched.clear()
    retriever.failing = frozenset(rewrite.texts)
    with caplog.at_level(logging.WARNING):
        found = rewriter.retrieve(QUERIES[0], k=4, decision_id="mine")
    decision = found.decision
    assert (decision.id, decision.reason, decision.action) == ("mine", "fallback:search", "keep")
    assert decision.policy_version == rewriter.policy_version
    assert len(retriever.searched) == 2  # the first ranking is served without a third search
    [own] = retriever.base.search([Rewrite((QUERIES[0],))], k=4, with_documents=True)
    assert (found.ranking.ids, found.ranking.texts) == (own.ids, own.texts)
    assert "query kept (fallback:search): CollectionError" in caplog.text
    assert QUERIES[0] not in caplog.text


def test_an_error_of_the_querys_own_search_passes_through(retriever: Counted) -> None:
    rewriter = trained(retriever, "keywords")
    retriever.failing = frozenset([QUERIES[0]])
    assert rewriter.decide(QUERIES[0]).reason == "fallback:evidence"
    with pytest.raises(CollectionError, match="the store is down"):
        rewriter.retrieve(QUERIES[0])


def test_evidence_that_fails_leaves_a_search_that_works(
    retriever: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = trained(retriever, "keywords")

    def broken(*args: Any, **settings: Any) -> list[Ranking]:
        raise OSError("the BM25 index is gone")

    monkeypatch.setattr(retriever, "lexical", broken)
    found = rewriter.retrieve(QUERIES[0], k=3)
    assert found.decision.reason == "fallback:evidence"
    assert len(found.ranking) == 3


def test_a_plan_without_documents_can_be_carried_out_too(retriever: Counted) -> None:
    """An action that fetches texts for itself may not shorten what is served afterwards."""
    rewriter = trained(retriever, "expand_3x5")
    plan = rewriter.plan(Query("order card account mail"), depth=12)
    assert plan.evidence is not None
    assert plan.evidence.first is not None
    assert len(plan.evidence.first) == 12
    found, ranking = searched(plan, retriever, 12)
    assert found is plan
    assert ranking is not None
    assert len(ranking) == 12


def test_filters_apply_to_every_search_made_for_a_query(retriever: Counted) -> None:
    for action in ("keep", "keywords", "fuse_bm25@0.4", "move_bm25_1@0.4"):
        rewriter = trained(retriever, action)
        for filters in ({"tenant": "a"}, Filters({"tenant": "a"})):
            found = rewriter.retrieve(QUERIES[0], k=12, filters=filters)
            assert {(m or {})["tenant"] for m in found.ranking.metadatas or ()} == {"a"}
        nothing = rewriter.retrieve(QUERIES[0], filters={"tenant": "nobody"})
        assert len(nothing.ranking) == 0


def test_another_retriever_for_one_call(retriever: Counted, lexical: Bm25Retriever) -> None:
    rewriter = trained(lexical, "keywords")
    found = rewriter.retrieve(QUERIES[0], k=2, retriever=retriever)
    assert found.decision.action == "keywords"
    assert retriever.searched


class EmptyLooking(Bm25Retriever):
    """Has a length of 0, as an object that is false."""

    def __len__(self) -> int:
        return 0


def test_a_retriever_that_is_false_is_still_a_retriever() -> None:
    empty = EmptyLooking(DOCUMENTS)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(empty, "keywords"))
    assert rewriter.decide(QUERIES[0], retriever=empty).action == "keywords"
    assert rewriter.retrieve(QUERIES[0], k=1, retriever=empty).ranking.ids


def test_the_same_seed_explores_the_same_way(lexical: Bm25Retriever) -> None:
    def actions(seed: int | None) -> list[str]:
        rewriter = trained(lexical, "keywords", seed=seed)
        return [rewriter.decide(QUERIES[0], explore=True).action for _ in range(40)]

    assert actions(1) == actions(1) != actions(2)
    assert len(set(actions(1))) > 1


def test_threads_may_share_a_rewriter(retriever: Counted, tmp_path: Path) -> None:
    rewriter = trained(retriever, "keywords", log=tmp_path / "log.jsonl", seed=0)

    def ask(number: int) -> str:
        found = rewriter.retrieve(QUERIES[number % 4], explore=True, k=3)
        rewriter.record(found.decision, found.ranking)
        return found.decision.id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(ask, range(64)))
    assert sorted(ids) == sorted(str(r["id"]) for r in read_records(tmp_path / "log.jsonl"))


def test_a_decision_with_history_of_any_shape(lexical: Bm25Retriever) -> None:
    rewriter = trained(lexical, "history_last_user_in_front")
    for history in (
        ["delivery"],
        [("user", "delivery")],
        [{"role": "user", "content": "delivery"}],
    ):
        decision = rewriter.decide("and abroad?", history=history)
        assert decision.rewrite == Rewrite(("delivery and abroad?",))
        assert decision.query.history == (Turn("user", "delivery"),)


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(lexical: Bm25Retriever, k: int) -> None:
    with pytest.raises(InputError, match=f"k must be at least 1, got {k}"):
        trained(lexical, "keep").retrieve("q", k=k)


def test_recorded_and_joined_with_feedback(retriever: Counted, tmp_path: Path) -> None:
    rewriter = trained(retriever, "keywords", log=str(tmp_path / "deep" / "log.jsonl"))
    found = rewriter.retrieve(QUERIES[0], k=2)
    rewriter.record(found.decision, found.ranking, tags={"user": 7})
    plain = rewriter.decide(QUERIES[1])
    rewriter.record(plain, [ScoredDocument("x", np.float32(0.5))])
    rewriter.feedback(found.decision.id, 1.0, "thumb")
    rewriter.feedback(found.decision.id, np.int64(0), "click", position=1, document_id="card")
    first, second = read_interactions(tmp_path / "deep" / "log.jsonl")
    assert first.decision["id"] == found.decision.id
    assert first.decision["tags"] == {"user": 7}
    assert [d["id"] for d in first.decision["documents"]] == list(found.ranking.ids)
    assert [(f.kind, f.value, f.position) for f in first.feedback] == [
        ("thumb", 1.0, None),
        ("click", 0.0, 1),
    ]
    assert second.decision["documents"] == [{"id": "x", "score": 0.5}]
    assert second.feedback == ()


def test_without_a_log_recording_is_nothing_and_feedback_is_refused(
    lexical: Bm25Retriever,
) -> None:
    rewriter = trained(lexical, "keep")
    rewriter.record(rewriter.decide("q"), [])
    with pytest.raises(InputError, match="needs a decision log; construct the rewriter with log="):
        rewriter.feedback("id", 1.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "good", None])
def test_feedback_is_a_finite_number(lexical: Bm25Retriever, tmp_path: Path, value: Any) -> None:
    log = DecisionLog(tmp_path / "log.jsonl")
    with pytest.raises(InputError, match="feedback must be a finite number, got"):
        trained(lexical, "keep", log=log).feedback("id", value)
    assert not log.path.exists()


def test_saved_and_loaded_it_decides_the_same(retriever: Counted, tmp_path: Path) -> None:
    rewriter = trained(retriever, "move_dense_3@0.4")
    rewriter.save(tmp_path / "policy")
    loaded = RLQueryRewriter.load(str(tmp_path / "policy"), retriever=retriever)
    for query in QUERIES:
        one, other = rewriter.decide(query), loaded.decide(query)
        assert other.rewrite == one.rewrite
        assert (other.action, other.preferences) == (one.action, one.preferences)
    assert loaded.policy_version == rewriter.policy_version
    assert loaded.actions == rewriter.actions
    assert loaded.checkpoint is not None


def test_nothing_to_save(retriever: Counted, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no trained policy to save; call fit"):
        RLQueryRewriter.from_retriever(retriever).save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


def test_an_action_of_ones_own_from_decision_to_loading(retriever: Counted, tmp_path: Path) -> None:
    actions = ActionSpace((Keep(), Shout()))
    checkpoint = fixed_checkpoint(retriever, "shout", actions=actions)
    rewriter = RLQueryRewriter(retriever, checkpoint=checkpoint, actions=actions)
    found = rewriter.retrieve("refund", k=3)
    assert found.decision.rewrite == Rewrite(("REFUND",))
    assert len(found.ranking) == 3
    rewriter.save(tmp_path / "policy")
    loaded = RLQueryRewriter.load(tmp_path / "policy", retriever=retriever, actions=[Shout()])
    assert loaded.decide("refund").rewrite == Rewrite(("REFUND",))
    with pytest.raises(CheckpointError, match="'shout' of your own"):
        RLQueryRewriter.load(tmp_path / "policy", retriever=retriever)


def test_over_a_chroma_collection(tmp_path: Path) -> None:
    rewriter = RLQueryRewriter.from_chroma(
        chroma_collection(), TokenEmbedder(), cache_dir=tmp_path, log=tmp_path / "log.jsonl"
    )
    assert {"keep", "fuse_bm25@0.4", "move_dense_1@0.2"} <= set(rewriter.actions.names)
    assert rewriter.retrieve("warranty repair", k=1).ranking.ids == ("repair",)


def test_public_names_are_there() -> None:
    for name in rl_rewriter.__all__:
        assert getattr(rl_rewriter, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        rl_rewriter.Nothing  # noqa: B018
