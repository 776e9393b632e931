"""A log that can't be written, or isn't in time: no rewrite is served unlogged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import ServingError
from rl_rewriter.logs.store import DecisionLog, read_records
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.breaker import BreakerConfig
from tests.support import fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, SHORT, assert_kept


def test_a_log_that_cannot_be_written_says_so(lexical: Bm25Retriever) -> None:
    checkpoint = fixed_checkpoint(lexical, "keywords")
    log = DecisionLog("/dev/full")
    rewriter = RLQueryRewriter(
        lexical, checkpoint=checkpoint, log=log, breaker=BreakerConfig(failures=2, seconds=60.0)
    )
    for _ in range(2):
        found = rewriter.retrieve(ASKED, k=4)
        assert found.decision.action == "keywords"
        assert not rewriter.record(found.decision, found.ranking)
    assert_kept(rewriter, lexical, "fallback:log_write")  # its breaker is open
    assert rewriter.counters["events"]["log_error"] == 2
    strict = RLQueryRewriter(lexical, checkpoint=checkpoint, log=log, strict=True)
    with pytest.raises(ServingError, match="log_write") as caught:
        strict.record(found.decision, found.ranking)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_late_record_is_never_written(lexical: Bm25Retriever, tmp_path: Path) -> None:
    """Whoever waits is told that it isn't on file, and then it never is."""
    path = tmp_path / "log.jsonl"
    log = DecisionLog(path)
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), log=log, budget=SHORT
    )
    found = rewriter.retrieve(ASKED, k=4)
    with log._lock:  # as a write holds it that the disk keeps waiting
        assert not rewriter.record(found.decision, found.ranking)
    assert rewriter.record(replace(found.decision, id="second"), found.ranking)
    assert [record["id"] for record in read_records(path)] == ["second"]
