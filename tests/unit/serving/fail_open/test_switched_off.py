"""An open circuit and the kill switch: our own work is left alone, until it may go on."""

from __future__ import annotations

import threading

import pytest

from rl_rewriter import Rewrite, RLQueryRewriter
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.types import Evidence
from tests.faults import faulty_checkpoint
from tests.support import fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, assert_kept, raising


def test_the_circuit_opens_and_a_probe_closes_it(lexical: Bm25Retriever) -> None:
    broken, asked = [True], []

    def make(evidence: Evidence) -> Rewrite:
        asked.append(evidence)
        return raising(evidence) if broken[0] else Rewrite(("refund",))

    rewriter = RLQueryRewriter(
        lexical,
        checkpoint=faulty_checkpoint(lexical, make),
        breaker=BreakerConfig(failures=3, seconds=0.2),
    )
    for _ in range(3):
        assert_kept(rewriter, lexical, "fallback:action_error")
    for _ in range(5):
        assert_kept(rewriter, lexical, "fallback:circuit_open")
    assert len(asked) == 3
    threading.Event().wait(0.25)
    assert_kept(rewriter, lexical, "fallback:action_error")  # the probe
    assert_kept(rewriter, lexical, "fallback:circuit_open")
    broken[0] = False
    threading.Event().wait(0.25)
    assert rewriter.retrieve(ASKED, k=4).decision.action == "faulty"
    assert rewriter.retrieve(ASKED, k=4).decision.action == "faulty"


def test_a_kill_switch(lexical: Bm25Retriever) -> None:
    on = [True]
    rewriter = RLQueryRewriter(
        lexical, checkpoint=fixed_checkpoint(lexical, "keywords"), kill_switch=lambda: on[0]
    )
    assert_kept(rewriter, lexical, "fallback:kill_switch")
    on[0] = False
    assert rewriter.decide(ASKED).action == "keywords"
    on.clear()  # a switch that can't be read counts as on
    assert_kept(rewriter, lexical, "fallback:kill_switch")


def test_the_environment_switches_off_without_a_registry(
    lexical: Bm25Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = RLQueryRewriter(lexical, checkpoint=fixed_checkpoint(lexical, "keywords"))
    assert rewriter.decide("refund of the card").reason == "policy"
    monkeypatch.setenv("RL_REWRITER_OFF", "1")
    assert_kept(rewriter, lexical, "fallback:kill_switch")
    monkeypatch.setenv("RL_REWRITER_OFF", "0")
    assert rewriter.decide("refund of the card").reason == "policy"
