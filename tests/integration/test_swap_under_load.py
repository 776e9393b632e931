"""A policy can be swapped while many threads decide: no decision is lost, and none is mixed."""

from __future__ import annotations

from pathlib import Path

from rl_rewriter import RLQueryRewriter
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.limits import Budget
from tests.support import DOCUMENTS
from tests.swapping import differences, distinguishable, swap_under_load, versions_of


def test_each_decision_is_of_one_version_and_on_file(tmp_path: Path) -> None:
    retriever, log = Bm25Retriever(DOCUMENTS), tmp_path / "decisions.jsonl"
    checkpoints = distinguishable(retriever)
    known = versions_of(checkpoints, retriever)
    rewriter = RLQueryRewriter(
        retriever, checkpoint=checkpoints[0], log=log, budget=Budget(seconds=60.0), seed=0
    )
    swapped = swap_under_load(
        rewriter, checkpoints, threads=16, requests=50, every=0.005, patience=60.0
    )
    assert swapped.alive == 0
    assert len(swapped.decisions) == 800
    assert len(known) == len(checkpoints)
    assert set(swapped.by_version()) <= set(known)
    assert len(swapped.by_version()) > 1
    assert swapped.mixed(known) == 0
    assert differences(log, swapped.decisions) == []
    assert rewriter.counters["reasons"] == {"explored": 800}
    assert rewriter.counters["policies"] == swapped.by_version()


def test_the_check_knows_mixed_decisions(tmp_path: Path) -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    checkpoints = distinguishable(retriever)
    known = versions_of(checkpoints, retriever)
    for version, wrong in zip(known, [*list(known.values())[1:], None], strict=True):
        other = wrong or next(iter(known.values()))
        [of_version] = [
            RLQueryRewriter(retriever, checkpoint=c).decide("refund card", explore=True)
            for c in checkpoints
            if c.policy.version == version
        ]
        assert known[version].made(of_version)
        assert not other.made(of_version)
