"""A log that is well again is written again, however requests come to it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.logs.store import read_records
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.limits import Budget
from tests.faults import faulty_checkpoint
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint

PAUSE = 0.05


def waited(rewriter: RLQueryRewriter) -> None:
    """Wait until an open circuit lets somebody try again."""
    time.sleep(1.1 * rewriter._guard.config.breaker.seconds)


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_a_log_is_written_again_by_decisions_that_are_recorded_apart(
    tmp_path: Path, seconds: float | None
) -> None:
    retriever, path = Bm25Retriever(DOCUMENTS), tmp_path / "log.jsonl"
    path.mkdir()  # no file can be written there
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=fixed_checkpoint(retriever, "keywords"),
        log=path,
        breaker=BreakerConfig(failures=1, seconds=PAUSE),
        budget=Budget(seconds=seconds),
    )
    assert not rewriter.record(rewriter.decide(QUERIES[0]), ())
    assert rewriter.decide(QUERIES[0]).reason == "fallback:log_write"
    path.rmdir()
    waited(rewriter)
    decision = rewriter.decide(QUERIES[0])
    assert decision.reason == "policy"
    assert rewriter.record(decision, ())
    assert [record["id"] for record in read_records(path)] == [decision.id]


def test_recording_takes_no_probe_from_the_next_decision(tmp_path: Path) -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    works = [False, True]
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=faulty_checkpoint(retriever, lambda evidence: None if works.pop(0) else 1),
        log=tmp_path / "log.jsonl",
        breaker=BreakerConfig(failures=1, seconds=PAUSE),
    )
    kept = rewriter.decide(QUERIES[0])
    assert kept.reason == "fallback:action_error"
    waited(rewriter)
    assert rewriter.record(kept, ())
    assert rewriter.decide(QUERIES[0]).reason == "policy"
    assert rewriter.counters["events"] == {}
