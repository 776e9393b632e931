"""One decision: what was chosen, with what propensity, and every way in which it can fail."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rl_rewriter.actions import ActionSpace
from rl_rewriter.actions.conversation import HistoryInFront
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.words import Keywords
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.decider import Decider, Plan
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Turn
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, chroma_collection, fixed_checkpoint

ASKED = Query(QUERIES[0])


@dataclass(frozen=True)
class Odd:
    """An action whose rewrite is what it is given, or an error."""

    outcome: Callable[[Evidence], Rewrite | None]
    name: str = "odd"
    strength: float = 1.0
    needs: Needs = Needs.NOTHING

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        return self.outcome(evidence)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


@pytest.fixture(scope="module")
def dense(folder: Path) -> HybridRetriever:
    return chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)


@pytest.fixture(scope="module")
def lexical() -> Bm25Retriever:
    return Bm25Retriever(DOCUMENTS)


def decide(checkpoint: Checkpoint, retriever: Any, query: Query = ASKED, **settings: Any) -> Plan:
    return Decider(checkpoint).plan(query, retriever, **settings)


def with_odd(retriever: Any, outcome: Callable[[Evidence], Rewrite | None]) -> Checkpoint:
    space = ActionSpace((Keep(), Odd(outcome)))
    return fixed_checkpoint(retriever, "odd", actions=space)


def assert_kept(plan: Plan, reason: str, checkpoint: Checkpoint) -> None:
    decision = plan.decision
    assert decision.reason == reason
    assert (decision.action, decision.strength) == ("keep", 0.0)
    assert decision.rewrite == Rewrite.keep(decision.query)
    assert decision.probabilities == {"keep": 1.0}
    assert decision.propensity == 1.0
    assert decision.policy_version == checkpoint.policy.version


def test_greedy_takes_the_most_probable_action_surely(dense: HybridRetriever) -> None:
    checkpoint = fixed_checkpoint(dense, "keywords")
    decision = decide(checkpoint, dense, decision_id="mine").decision
    assert (decision.id, decision.action, decision.strength) == ("mine", "keywords", 1.0)
    assert decision.rewrite == Keywords().rewrite(Evidence(ASKED, checkpoint.statistics))
    assert decision.propensity == decision.probabilities["keywords"] == 1.0
    assert sum(decision.probabilities.values()) == 1.0
    assert 0.9 < decision.preferences["keywords"] < 1.0
    assert (decision.reason, decision.explored) == ("policy", False)
    assert (decision.policy_name, decision.policy_version) == ("mlp", checkpoint.policy.version)
    assert decision.state_schema == checkpoint.features.fingerprint
    assert len(decision.state or ()) == len(checkpoint.features.columns)
    assert decision.latency_ms > 0
    assert decision.time > 1.7e9


def test_explored_actions_carry_the_probability_they_were_drawn_with(
    dense: HybridRetriever,
) -> None:
    checkpoint = fixed_checkpoint(dense, "keywords")
    for seed in range(30):
        decision = decide(checkpoint, dense, rng=np.random.default_rng(seed)).decision
        assert (decision.reason, decision.explored) == ("explored", True)
        assert decision.propensity == decision.probabilities[decision.action]
        assert decision.probabilities == decision.preferences
        assert sum(decision.probabilities.values()) == pytest.approx(1.0)


def test_explored_frequencies_are_the_logged_probabilities(lexical: Bm25Retriever) -> None:
    checkpoint = fixed_checkpoint(
        lexical, "keywords", actions=ActionSpace((Keep(), Keywords(), Keywords(0.5)))
    )
    rng, n = np.random.default_rng(0), 600
    plans = [decide(checkpoint, lexical, rng=rng).decision for _ in range(n)]
    counts = Counter(decision.action for decision in plans)
    expected = {name: n * p for name, p in plans[0].probabilities.items()}
    test = stats.chisquare([counts[name] for name in expected], list(expected.values()))
    assert test.pvalue > 0.01


def test_masked_actions_are_neither_drawn_nor_logged(dense: HybridRetriever) -> None:
    checkpoint = fixed_checkpoint(dense, "history_last_user_in_front")
    alone = decide(checkpoint, dense).decision
    going_on = decide(checkpoint, dense, Query("and abroad?", (Turn("user", "delivery"),))).decision
    assert not any(name.startswith("history") for name in alone.probabilities)
    assert alone.action != "history_last_user_in_front"
    assert going_on.rewrite == Rewrite(("delivery and abroad?",))
    assert set(going_on.probabilities) == set(checkpoint.actions.names)


def test_actions_can_be_held_to_what_another_search_can_do(dense: HybridRetriever) -> None:
    checkpoint = fixed_checkpoint(dense, "fuse_bm25@0.4")
    assert decide(checkpoint, dense).decision.action == "fuse_bm25@0.4"
    held = decide(checkpoint, dense, allowed=Needs.NOTHING).decision
    assert set(held.probabilities) == {"keep", "keywords", "top_idf_4", "topic"}


def test_an_action_with_nothing_to_do_keeps_the_query_under_its_own_name(
    lexical: Bm25Retriever,
) -> None:
    decision = decide(fixed_checkpoint(lexical, "keywords"), lexical, Query("refund")).decision
    assert (decision.action, decision.reason) == ("keywords", "policy")
    assert decision.rewrite == Rewrite(("refund",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "fallback:blank_query"),
        (" \n\t ", "fallback:blank_query"),
        ("refund " * 15_000, "fallback:long_query"),
        ("Hello", "fallback:small_talk"),
        ("谢谢！", "fallback:small_talk"),
        ("???", "fallback:small_talk"),
    ],
)
def test_queries_that_ask_nothing_and_overlong_ones_are_kept_without_a_look(
    dense: HybridRetriever, text: str, reason: str
) -> None:
    checkpoint = fixed_checkpoint(dense, "keywords")
    plan = decide(checkpoint, object(), Query(text))
    assert_kept(plan, reason, checkpoint)
    assert plan.evidence is None


class BrokenEmbedder(TokenEmbedder):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("model server is down")


class NanEmbedder(TokenEmbedder):
    def embed_query(self, text: str) -> list[float]:
        return [float("nan")] * self.dimensions


@pytest.mark.parametrize("embedder", [BrokenEmbedder(), NanEmbedder(), TokenEmbedder(8)])
def test_embedders_that_fail_lead_to_keep(
    dense: HybridRetriever, folder: Path, embedder: TokenEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = fixed_checkpoint(dense, "keywords")
    broken = chroma_retriever(chroma_collection(), embedder, cache_dir=folder)
    with caplog.at_level(logging.WARNING):
        plan = decide(checkpoint, broken)
    assert_kept(plan, "fallback:evidence", checkpoint)
    assert "query kept (fallback:evidence)" in caplog.text
    assert ASKED.text not in caplog.text


def test_a_retriever_that_offers_too_little(dense: HybridRetriever) -> None:
    checkpoint = fixed_checkpoint(dense, "keywords")
    assert_kept(decide(checkpoint, TextOnly()), "fallback:missing_evidence", checkpoint)
    assert_kept(decide(checkpoint, object()), "fallback:evidence", checkpoint)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_policy_that_is_not_finite(lexical: Bm25Retriever, value: float) -> None:
    fixed = fixed_checkpoint(lexical, "keywords")
    layer = fixed.policy.layers[0]
    bias = np.full_like(layer.bias, value)
    broken = replace(fixed, policy=MlpPolicy((Layer(layer.weight, bias),)))
    for rng in (None, np.random.default_rng(0)):
        with np.errstate(invalid="ignore"):
            assert_kept(decide(broken, lexical, rng=rng), "fallback:policy_error", broken)


def _raise(evidence: Evidence) -> Rewrite | None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "outcome",
    [
        _raise,
        lambda evidence: Rewrite((evidence.query.text, "x"), (0.2, 0.2)),
        lambda evidence: Rewrite(("x",), vector=np.asarray([1.0, np.nan], dtype=np.float32)),
        lambda evidence: "not a rewrite",
    ],
)
def test_an_action_that_fails(
    lexical: Bm25Retriever, outcome: Callable[[Evidence], Rewrite | None]
) -> None:
    checkpoint = with_odd(lexical, outcome)
    plan = decide(checkpoint, lexical)
    assert_kept(plan, "fallback:action_error", checkpoint)
    assert plan.evidence is not None
    assert plan.evidence.first is not None


def test_an_action_may_look_at_the_evidence_it_needs(dense: HybridRetriever) -> None:
    seen: list[Evidence] = []

    def look(evidence: Evidence) -> Rewrite | None:
        seen.append(evidence)
        return None

    needs = Needs.FIRST_TEXTS | Needs.LEXICAL_VECTORS
    space = ActionSpace((Keep(), Odd(look, needs=needs), HistoryInFront("last_user")))
    checkpoint = fixed_checkpoint(dense, "odd", actions=space)
    plan = decide(checkpoint, dense, depth=12)
    assert plan.decision.action == "odd"
    [evidence] = seen
    assert evidence.first is not None
    assert evidence.lexical is not None
    assert evidence.first.texts is not None
    assert evidence.lexical.vectors is not None
    assert plan.evidence is evidence
    assert len(evidence.first) == 12


def test_equal_queries_are_decided_equally(dense: HybridRetriever) -> None:
    checkpoint = fixed_checkpoint(dense, "move_dense_1@0.2")
    one, other = (decide(checkpoint, dense).decision for _ in range(2))
    assert one.id != other.id
    same = replace(other, id=one.id, time=one.time, latency_ms=one.latency_ms)
    assert same == one
