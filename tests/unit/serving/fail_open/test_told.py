"""What listeners and warnings tell: all that happened, and no words of a query."""

from __future__ import annotations

import logging

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.events import Served
from tests.faults import Stall, faulty_checkpoint
from tests.support import fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, SHORT, raising


def test_listeners_are_told_and_can_do_no_harm(
    lexical: Bm25Retriever, stall: Stall, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Served] = []

    def broken(served: Served) -> None:
        raise ValueError(served.decision.query.text)

    checkpoint = fixed_checkpoint(lexical, "keywords")
    rewriter = RLQueryRewriter(lexical, checkpoint=checkpoint, listeners=[broken, told.append])
    with caplog.at_level(logging.WARNING):
        found = rewriter.retrieve(ASKED, k=4)
        rewriter.decide(ASKED)
    first, second = told
    assert (first.decision, first.n_documents, first.adapter) == (
        found.decision,
        len(found.ranking),
        "python",
    )
    assert (first.searches, first.llm_calls) == (1, 0)
    assert first.seconds > 0
    assert second.n_documents is None
    assert rewriter.counters["events"] == {"listener_error": 2}
    assert "a listener failed: ValueError" in caplog.text
    assert ASKED not in caplog.text
    late = RLQueryRewriter(lexical, checkpoint=checkpoint, listeners=[stall], budget=SHORT)
    assert late.decide(ASKED).action == "keywords"
    assert late.counters["events"] == {"listener_late": 1}


def test_queries_stay_out_of_warnings(
    lexical: Bm25Retriever, caplog: pytest.LogCaptureFixture
) -> None:
    rewriter = RLQueryRewriter(lexical, checkpoint=faulty_checkpoint(lexical, raising))
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            rewriter.retrieve(ASKED, k=2)
    assert [record.getMessage() for record in caplog.records] == [
        "query kept (fallback:action_error): ZeroDivisionError"
    ]
