"""Searches and calls of a language model beyond the budget: masked, else refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from rl_rewriter import Rewrite, RLQueryRewriter
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Evidence, Needs
from tests.faults import faulty_checkpoint
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection, fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, assert_kept


@pytest.mark.parametrize(
    ("searches", "possible"),
    [
        (0, set()),
        (1, {"keep"}),
        (2, {"keep", "keywords", "move_dense_1@0.4", "expand_3x5", "move_bm25_1@0.4"}),
        (3, {"keep", "keywords", "fuse_bm25@0.4", "move_bm25_1@0.4"}),
    ],
)
def test_searches_beyond_the_budget_are_masked_before_sampling(
    tmp_path: Path, searches: int, possible: set[str]
) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    checkpoint = fixed_checkpoint(retriever, "keywords")
    told: list[Served] = []
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=checkpoint,
        budget=Budget(searches=searches, seconds=None),
        listeners=[told.append],
    )
    for seed in range(30):
        decision = rewriter.retrieve(ASKED, explore=True, seed=seed, k=3).decision
        if searches == 0:  # BM25 is one search more than the first ranking
            assert decision.reason == "fallback:search_budget"
            continue
        assert decision.propensity == decision.probabilities[decision.action] > 0
        assert sum(decision.probabilities.values()) == pytest.approx(1.0)
    assert max(served.searches for served in told) <= searches
    if searches:
        assert possible <= set(decision.probabilities)
        assert not any("fuse" in name for name in decision.probabilities) or searches > 2


def test_a_kept_query_served_from_its_first_ranking_is_no_extra_search() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    told: list[Served] = []
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        budget=Budget(searches=0),
        listeners=[told.append],
    )
    found = rewriter.retrieve(ASKED, k=4)
    assert set(found.decision.probabilities) == {"keep"}
    assert found.decision.reason == "policy"
    assert [served.searches for served in told] == [0]


def test_a_search_that_an_action_hid_is_refused(lexical: Bm25Retriever) -> None:
    def fused(evidence: Evidence) -> Rewrite:
        return Rewrite(("refund",), lexical_weight=0.5)

    checkpoint = faulty_checkpoint(lexical, fused)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=Budget(searches=1))
    assert_kept(rewriter, lexical, "fallback:search_budget")
    assert (
        RLQueryRewriter(checkpoint=checkpoint).decide(ASKED, retriever=lexical).action == "faulty"
    )


def test_llm_calls_beyond_the_budget(lexical: Bm25Retriever) -> None:
    asked: list[str] = []

    def llm(prompt: str) -> str:
        asked.append(prompt)
        return "refund card"

    space = ActionSpace((Keep(), LlmRewrite(llm)))
    checkpoint = fixed_checkpoint(lexical, "llm:rephrase", actions=space)
    none = RLQueryRewriter(lexical, checkpoint=checkpoint, budget=Budget(llm_calls=0))
    decision = none.decide(ASKED, explore=True)
    assert (decision.probabilities, decision.propensity, asked) == ({"keep": 1.0}, 1.0, [])
    told: list[Served] = []
    one = RLQueryRewriter(
        lexical, checkpoint=checkpoint, budget=Budget(llm_calls=1), listeners=[told.append]
    )
    assert one.decide(ASKED).action == "llm:rephrase"
    assert (told[0].llm_calls, len(asked)) == (1, 1)


def test_llm_calls_that_an_action_hid_are_refused(lexical: Bm25Retriever) -> None:
    @dataclass(frozen=True)
    class Hidden:
        name: str = "hidden"
        strength: float = 1.0
        needs: Needs = Needs.NOTHING

        def rewrite(self, evidence: Evidence) -> Rewrite:
            return Rewrite(("refund",), llm_calls=3)

    space = ActionSpace((Keep(), Hidden()))
    checkpoint = fixed_checkpoint(lexical, "hidden", actions=space)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=Budget(llm_calls=2))
    assert_kept(rewriter, lexical, "fallback:llm_budget")
