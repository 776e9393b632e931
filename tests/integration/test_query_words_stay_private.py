"""Whatever fails, the words of a query are in no message above debug level and in no hashed log."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import RewriterError
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.types import Evidence
from tests.faults import faulty_checkpoint, with_policy
from tests.support import DOCUMENTS, fixed_checkpoint

SECRET = "zanzibar biopsy"
QUESTION = f"is my {SECRET} covered by the refund?"


class Quoting:
    """A retriever whose errors quote what was searched, once it is broken."""

    def __init__(self) -> None:
        self._inner = HybridRetriever(Bm25Retriever(DOCUMENTS), Bm25Retriever(DOCUMENTS))
        self.fails_on: Callable[[Any], bool] = lambda rewrite: False

    def search(self, rewrites: Any, **settings: Any) -> Any:
        for rewrite in rewrites:
            if self.fails_on(rewrite):
                raise ValueError(f"cannot embed {rewrite.texts!r}")
        return self._inner.search(rewrites, **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Broken:
    """A policy whose error quotes the query, as far as it knows it."""

    name, version = "broken", "v0"

    def distribution(self, states: Any, mask: Any) -> Any:
        raise RuntimeError(QUESTION)


def quoting_action(evidence: Evidence) -> Any:
    raise RuntimeError(f"the model refused: {evidence.query.text}")


def rubbish_action(evidence: Evidence) -> Any:
    return evidence.query.text


def served(
    tmp_path: Path,
    spoil: Callable[[Quoting, Checkpoint], Checkpoint],
    log_queries: Any,
    **settings: Any,
) -> RLQueryRewriter:
    retriever = Quoting()
    checkpoint = spoil(retriever, fixed_checkpoint(retriever, "keywords"))
    return RLQueryRewriter(
        retriever=retriever,
        checkpoint=checkpoint,
        log=tmp_path / "log.jsonl",
        log_queries=log_queries,
        **settings,
    )


def with_action(make: Callable[[Evidence], Any]) -> Callable[[Quoting, Checkpoint], Checkpoint]:
    return lambda retriever, _: faulty_checkpoint(retriever, make)


def failing_evidence(retriever: Quoting, checkpoint: Checkpoint) -> Checkpoint:
    retriever.fails_on = lambda rewrite: True
    return checkpoint


def failing_rewrite(retriever: Quoting, checkpoint: Checkpoint) -> Checkpoint:
    retriever.fails_on = lambda rewrite: rewrite.texts != (QUESTION,)
    return checkpoint


FAULTS: dict[str, Callable[[Quoting, Checkpoint], Checkpoint]] = {
    "evidence": failing_evidence,
    "search": failing_rewrite,
    "policy": lambda _, checkpoint: with_policy(checkpoint, Broken()),
    "action": with_action(quoting_action),
    "rubbish": with_action(rubbish_action),
}


@pytest.mark.parametrize("log_queries", ["hash", "none"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_message_holds_the_query(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str, log_queries: Any
) -> None:
    caplog.set_level(logging.INFO)
    rewriter = served(tmp_path, FAULTS[fault], log_queries)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for call in (rewriter.decide, rewriter.retrieve):
            with suppress(ValueError):  # the retriever's own, on the query itself
                call(QUESTION)
        decision = rewriter.decide(QUESTION)
        rewriter.record(decision, (), tags={"question": f"asked: {QUESTION}"})
    told = [record.getMessage() + str(record.exc_text or "") for record in caplog.records]
    told += [str(warning.message) for warning in warned]
    if fault != "search":
        assert decision.reason.startswith("fallback:")
    assert not [text for text in told if SECRET in text]
    assert SECRET not in (tmp_path / "log.jsonl").read_text()


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_of_ours_name_the_cause_by_type_alone(tmp_path: Path, fault: str) -> None:
    rewriter = served(tmp_path, FAULTS[fault], "hash", strict=True)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whichever it is, ours holds no word
        rewriter.retrieve(QUESTION)
    if isinstance(caught.value, RewriterError):
        assert SECRET not in str(caught.value)
    else:
        assert fault == "evidence"  # the retriever's own answer to the query itself
