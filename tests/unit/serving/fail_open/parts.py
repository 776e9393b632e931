"""What tests of failures ask, and how a query that is kept is known."""

from __future__ import annotations

from typing import Any

from rl_rewriter import Ranking, Rewrite, RLQueryRewriter
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Evidence
from tests.support import QUERIES

ASKED = QUERIES[0]
SHORT = Budget(seconds=0.3)


def own(retriever: Any, k: int = 4) -> Ranking:
    [ranking] = retriever.search([Rewrite((ASKED,))], k=k, with_documents=True)
    found: Ranking = ranking
    return found


def assert_kept(rewriter: RLQueryRewriter, retriever: Any, reason: str) -> None:
    """The query's own documents, under that reason, and counted."""
    before = rewriter.counters["reasons"].get(reason, 0)
    found = rewriter.retrieve(ASKED, k=4, retriever=retriever)
    assert found.decision.reason == reason
    assert found.decision.action == "keep"
    assert found.decision.rewrite == Rewrite((ASKED,))
    assert (found.ranking.ids, found.ranking.texts) == (own(retriever).ids, own(retriever).texts)
    assert rewriter.counters["reasons"][reason] == before + 1


def raising(evidence: Evidence) -> Rewrite:
    raise ZeroDivisionError(evidence.query.text)
