"""What is late: keep in time, and no thread is added for it for ever."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rl_rewriter import Query, Rewrite, RLQueryRewriter
from rl_rewriter.errors import ServingError
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import Budget
from rl_rewriter.serving.workers import Workers
from rl_rewriter.types import Evidence
from tests.faults import Stall, faulty_checkpoint
from tests.support import TokenEmbedder, chroma_collection, fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, SHORT, assert_kept


class SlowEmbedder(TokenEmbedder):
    """Stalls on the first query from when it is told to."""

    stall: Stall | None = None

    def embed_query(self, text: str) -> list[float]:
        stall, self.stall = self.stall, None
        if stall is not None:
            stall()
        return super().embed_query(text)


def test_a_slow_embedder(stall: Stall, tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    retriever = chroma_retriever(chroma_collection(), embedder, cache_dir=tmp_path)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(retriever, "keywords"), budget=SHORT)
    embedder.stall = stall
    assert_kept(rewriter, retriever, "fallback:timeout")


def test_a_slow_action_and_the_next_request(lexical: Bm25Retriever, stall: Stall) -> None:
    slow = [stall]

    def make(evidence: Evidence) -> Rewrite:
        if slow:
            slow.pop()()
        return Rewrite(("refund",))

    checkpoint = faulty_checkpoint(lexical, make)
    told: list[Served] = []
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=SHORT, listeners=[told.append])
    assert_kept(rewriter, lexical, "fallback:timeout")
    assert rewriter.retrieve(ASKED, k=4, retriever=lexical).decision.action == "faulty"
    stall.let_go()
    assert [served.decision.reason for served in told] == ["fallback:timeout", "policy"]
    assert rewriter.counters["requests"] == 2


def test_stuck_threads_are_not_added_to_for_ever(lexical: Bm25Retriever, stall: Stall) -> None:
    rewriter = RLQueryRewriter(
        checkpoint=faulty_checkpoint(lexical, stall),
        budget=SHORT,
        breaker=BreakerConfig(failures=None),
    )
    rewriter._guard.workers = Workers(limit=2)
    for reason in ("timeout", "timeout", "overloaded", "overloaded"):
        assert_kept(rewriter, lexical, f"fallback:{reason}")
    assert rewriter._guard.workers.stuck == 2


def test_strict_raises_where_time_is_up(lexical: Bm25Retriever, stall: Stall) -> None:
    checkpoint = faulty_checkpoint(lexical, stall)
    rewriter = RLQueryRewriter(checkpoint=checkpoint, budget=SHORT, strict=True)
    for _ in range(7):  # no circuit opens in between
        with pytest.raises(ServingError, match="fallback:timeout"):
            rewriter.decide(ASKED, retriever=lexical)


@pytest.mark.parametrize("text", ["", " \n", "x" * 20_000])
def test_strict_keeps_what_is_kept_by_rule(lexical: Bm25Retriever, text: str) -> None:
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), strict=True
    )
    assert rewriter.decide(text).reason in ("fallback:blank_query", "fallback:long_query")


def test_without_a_time_limit_nothing_runs_elsewhere(lexical: Bm25Retriever) -> None:
    seen: list[threading.Thread] = []

    def make(evidence: Evidence) -> None:
        seen.append(threading.current_thread())

    checkpoint = faulty_checkpoint(lexical, make)
    RLQueryRewriter(lexical, checkpoint=checkpoint, budget=Budget(seconds=None)).decide(ASKED)
    RLQueryRewriter(lexical, checkpoint=checkpoint).decide(ASKED)
    assert seen[0] is threading.current_thread() is not seen[1]


def test_the_untrained_rewriter_needs_no_thread(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(lexical)
    assert rewriter.retrieve(ASKED, k=4).decision.reason == "untrained"
    assert rewriter.plan(Query(ASKED)).decision.reason == "untrained"
    assert rewriter._guard.workers.threads == 0
