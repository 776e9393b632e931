"""Weights that are drawn in serving: told, repeatable, and searched; nothing changes without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_logits import logits_of, weights_of
from rl_rewriter.errors import InputError
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.policies.exploration import Exploration
from rl_rewriter.policies.gaussian import GaussianBlend
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Query, RewriteDecision, Turn
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, blend_checkpoint, chroma_collection

DRAWS = Exploration(around="greedy", sigma=0.6)
TALK = (Turn("user", "a refund"), Turn("assistant", "to the card"))


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> HybridRetriever:
    folder = tmp_path_factory.mktemp("bm25")
    return chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)


@pytest.fixture(scope="module")
def checkpoint(retriever: HybridRetriever) -> Checkpoint:
    return blend_checkpoint(retriever)


def decided(
    checkpoint: Checkpoint, retriever: Any, query: Query, seed: int | None = 0
) -> RewriteDecision:
    rng = None if seed is None else np.random.default_rng(seed)
    return Decider(checkpoint).plan(query, retriever, rng=rng, exploration=DRAWS).decision


def evidence_of(blend: LearnedBlend, decision: RewriteDecision, retriever: Any) -> Evidence:
    statistics = CollectionStatistics.from_texts(list(DOCUMENTS.values()))
    [found] = gather([decision.query], retriever, statistics, blend.needs)
    return found


@pytest.mark.parametrize("query", [Query(QUERIES[0]), Query("and when?", TALK)])
def test_the_decision_tells_the_weights_and_their_density(
    checkpoint: Checkpoint, retriever: HybridRetriever, query: Query
) -> None:
    [blend] = checkpoint.blends
    found = decided(checkpoint, retriever, query)
    assert (found.action, found.reason, found.sigma) == ("blend", "explored", 0.6)
    assert found.blends == {"blend": blend.head.version}
    assert tuple(found.weights) == blend.head.views
    weights = np.asarray([[*found.weights.values()]])
    assert weights.sum() == pytest.approx(1.0)
    of_history = {"history_in_front", "last_answer", "words_of_history", "words_of_history_alike"}
    absent = {view for view, weight in found.weights.items() if weight == 0.0}
    assert absent == (set() if query.history else of_history)
    state = np.asarray([found.state], dtype=np.float32)
    distribution = GaussianBlend(blend.head, 0.6).distribution(state, weights > 0.0)
    assert found.log_density == pytest.approx(distribution.log_prob(logits_of(weights))[0])
    assert np.ptp(weights[weights > 0.0]) > 0.01  # the blend itself weighs all alike


def test_the_same_seed_draws_the_same(checkpoint: Checkpoint, retriever: HybridRetriever) -> None:
    first, again, other = (
        decided(checkpoint, retriever, Query(QUERIES[0]), seed) for seed in (3, 3, 4)
    )
    assert (first.weights, first.log_density) == (again.weights, again.log_density)
    assert first.rewrite == again.rewrite
    assert first.weights != other.weights
    assert first.rewrite != other.rewrite


def test_logged_weights_are_carried_out_again(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    [blend] = checkpoint.blends
    for seed in range(4):
        made = decided(checkpoint, retriever, Query("and when?", TALK), seed)
        assert blend.rewrite_by(evidence_of(blend, made, retriever), made.weights) == made.rewrite


@pytest.mark.parametrize(
    "weights",
    [
        {"query": 0.5, "first_3": 0.4},
        {"query": 1.5, "first_3": -0.5},
        {"query": 0.5, "smell": 0.5},
        {"query": 0.5, "last_answer": 0.5},
        {"query": math.nan, "first_3": 1.0},
        {},
    ],
)
def test_weights_that_cannot_be_searched_are_refused(
    checkpoint: Checkpoint, retriever: HybridRetriever, weights: Mapping[str, float]
) -> None:
    [blend] = checkpoint.blends
    made = decided(checkpoint, retriever, Query(QUERIES[0]))
    with pytest.raises(InputError, match=r"weights must be shares, summing to 1, of views that"):
        blend.rewrite_by(evidence_of(blend, made, retriever), weights)


def test_without_exploring_nothing_is_drawn(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    query = Query(QUERIES[0])
    plain = decided(checkpoint, retriever, query, seed=None)
    assert (plain.sigma, plain.weights, plain.log_density) == (0.0, {}, None)
    explored = Decider(checkpoint).plan(query, retriever, rng=np.random.default_rng(0)).decision
    assert (explored.sigma, explored.weights, explored.log_density) == (0.0, {}, None)
    assert explored.rewrite == plain.rewrite


def test_the_mean_of_the_logits_is_what_is_served_without_exploring(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    query = Query(QUERIES[0])
    drawn = [decided(checkpoint, retriever, query, seed).weights for seed in range(400)]
    weights = np.asarray([[*one.values()] for one in drawn])
    present = weights[0] > 0.0
    mean = logits_of(weights)[:, present].mean(axis=0)[None]
    np.testing.assert_allclose(weights_of(mean)[0], 1.0 / present.sum(), rtol=0.15)


def test_where_a_query_has_no_other_view_there_is_nothing_to_draw(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    [blend] = checkpoint.blends
    of_talk = replace(
        blend.head,
        views=("query", "last_answer"),
        bias=np.zeros(2, dtype=np.float32),
        scale=np.ones(2, dtype=np.float32),
    )
    actions = (*checkpoint.actions.actions[:-1], LearnedBlend(of_talk))
    talks = replace(checkpoint, actions=replace(checkpoint.actions, actions=actions))
    found = decided(talks, retriever, Query(QUERIES[0]))
    assert (found.action, found.rewrite.texts) == ("blend", (QUERIES[0],))
    assert (found.weights, found.log_density) == ({"query": 1.0, "last_answer": 0.0}, 0.0)


def test_a_draw_that_fails_keeps_the_query(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    class Broken(np.random.Generator):
        def standard_normal(self, *args: Any, **kwargs: Any) -> Any:
            raise MemoryError("no numbers left")

    rng = Broken(np.random.PCG64(0))
    plan = Decider(checkpoint).plan(Query(QUERIES[0]), retriever, rng=rng, exploration=DRAWS)
    assert (plan.decision.action, plan.decision.reason) == ("keep", "fallback:action_error")
    assert plan.decision.weights == {}


def test_other_actions_draw_as_they_did() -> None:
    retriever = HybridRetriever(Bm25Retriever(DOCUMENTS), Bm25Retriever(DOCUMENTS))
    made = []
    for exploration in (Exploration(epsilon=0.5), Exploration(epsilon=0.5, sigma=0.6)):
        rewriter = RLQueryRewriter(retriever=retriever, exploration=exploration, seed=3)
        rewriter.explore_untrained(keep=0.5)
        made.append([rewriter.decide(query, explore=True) for query in QUERIES])
    plain, drawing = made
    assert [one.action for one in drawing] == [one.action for one in plain]
    assert [one.rewrite for one in drawing] == [one.rewrite for one in plain]
    assert {(one.sigma, one.log_density, len(one.blends)) for one in drawing} == {(0.0, None, 0)}


@pytest.mark.parametrize("sigma", [-0.1, 1e-9, 11.0, math.nan, math.inf])
def test_a_sigma_that_cannot_be_drawn_with_is_refused(sigma: float) -> None:
    with pytest.raises(InputError, match=r"sigma must be 0 or lie in \[0.001, 10.0\]"):
        Exploration(sigma=sigma)
