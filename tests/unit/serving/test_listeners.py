"""What listeners get of a request and of its outcome, and which session its record names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.logs.store import read_records
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.events import FeedbackListener, Served
from rl_rewriter.serving.limits import Budget
from rl_rewriter.serving.workers import Workers
from rl_rewriter.types import Feedback, Ranking
from tests.faults import Stall
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint


class Hearing:
    """Keeps what it is told; fails where it is to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.served: list[Served] = []
        self.feedback: list[Feedback] = []

    def __call__(self, served: Served) -> None:
        self.served.append(served)

    def on_feedback(self, feedback: Feedback) -> None:
        self.feedback.append(feedback)
        if self.fails:
            raise RuntimeError("down")


def listened(*listeners: Hearing, **settings: Any) -> RLQueryRewriter:
    retriever = Bm25Retriever(DOCUMENTS)
    plain: list[Served] = []
    return RLQueryRewriter.from_retriever(
        retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        listeners=[plain.append, *listeners],
        **settings,
    )


def test_an_outcome_reaches_those_that_want_to_know_and_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing, working = Hearing(fails=True), Hearing()
    rewriter = listened(failing, working, log=tmp_path / "log.jsonl")
    rewriter.feedback("d1", 0.5, "rating", position=2, document_id="card")
    [told] = working.feedback
    assert failing.feedback == [told]
    assert (told.decision_id, told.value, told.kind) == ("d1", 0.5, "rating")
    assert (told.position, told.document_id) == (2, "card")
    assert rewriter.counters["events"] == {"listener_error": 1}
    assert "a listener failed: RuntimeError" in caplog.text
    assert [record["decision_id"] for record in read_records(tmp_path / "log.jsonl")] == ["d1"]


def test_a_function_wants_no_outcomes() -> None:
    assert isinstance(Hearing(), FeedbackListener)
    assert not isinstance(print, FeedbackListener)


def test_a_listener_is_told_the_documents_that_were_handed_over() -> None:
    hearing = Hearing()
    rewriter = listened(hearing)
    found = rewriter.retrieve(QUERIES[0], k=3)
    rewriter.decide(QUERIES[0])
    retrieved, decided = hearing.served
    assert [each.id for each in retrieved.documents or ()] == list(found.ranking.ids)
    assert retrieved.n_documents == 3
    assert (decided.documents, decided.n_documents) == (None, None)


def test_the_session_is_in_the_log_and_in_what_listeners_hear(tmp_path: Path) -> None:
    hearing = Hearing()
    rewriter = listened(hearing, log=tmp_path / "log.jsonl")
    decision = rewriter.decide(QUERIES[0], session="s1")
    found = rewriter.retrieve(QUERIES[1], session="s2")
    nameless = rewriter.decide(QUERIES[2], decision_id="d3")
    rewriter.record(decision, (), tags={"user": "u"})
    rewriter.record(found.decision, found.ranking)
    rewriter.record(nameless, ())
    assert [record["tags"] for record in read_records(tmp_path / "log.jsonl")] == [
        {"user": "u", "session_id": "s1"},
        {"session_id": "s2"},
        {},
    ]
    assert [served.tags for served in hearing.served] == [
        {"session_id": "s1"},
        {"session_id": "s2"},
        {},
    ]


class Scoreless(Bm25Retriever):
    """Forgets its scores."""

    def search(self, *args: Any, **settings: Any) -> list[Ranking]:
        found = super().search(*args, **settings)
        return [replace(ranking, scores=ranking.scores[:0]) for ranking in found]


def test_a_ranking_without_scores_stops_nobody() -> None:
    hearing = Hearing()
    rewriter = RLQueryRewriter(Scoreless(DOCUMENTS), listeners=[hearing])
    found = rewriter.retrieve(QUERIES[0], k=3)
    [served] = hearing.served
    assert [each.id for each in served.documents or ()] == list(found.ranking.ids)
    assert len(found.ranking.ids) == 3


def test_a_listener_that_asks_for_an_exit_stops_nobody() -> None:
    def leaves(served: Served) -> None:
        raise SystemExit(1)

    retriever = Bm25Retriever(DOCUMENTS)
    rewriter = RLQueryRewriter(
        retriever, checkpoint=fixed_checkpoint(retriever, "keywords"), listeners=[leaves]
    )
    assert rewriter.decide(QUERIES[0]).reason == "policy"
    assert rewriter.counters["events"] == {"listener_error": 1}


def test_listeners_that_hang_keep_no_query() -> None:
    stall, retriever = Stall(), Bm25Retriever(DOCUMENTS)
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        listeners=[stall],
        budget=Budget(seconds=0.2),
    )
    rewriter._guard.listener_workers = Workers(limit=2)
    for _ in range(4):
        assert rewriter.decide(QUERIES[0]).reason == "policy"
    assert rewriter.counters["events"] == {"listener_late": 4}
    assert rewriter._guard.workers.stuck == 0
    stall.let_go()
