"""The verdict in words."""

from __future__ import annotations

import pytest

from rl_rewriter.benchmark.report.arms import Versus
from rl_rewriter.benchmark.report.record import Record, Room
from rl_rewriter.benchmark.report.verdicts import headline, room_sentences, summary, verdict

BETTER = Versus(0.1, (0.05, 0.15), 0.001, 0.001)
SAME = Versus(0.01, (-0.05, 0.06), 0.6, 0.6)
WORSE = Versus(-0.1, (-0.15, -0.05), 0.001, 0.001)


def record(keep: Versus | None, fixed: Versus | None = None, said: str | None = None) -> Record:
    return Record(name="a", retriever="b", versus_keep=keep, versus_best_fixed=fixed, verdict=said)


def test_the_verdict_of_the_run_comes_first() -> None:
    assert verdict(record(BETTER, said="no gain here")) == "No gain here."
    assert verdict(record(BETTER, said="Is it? yes!")) == "Is it? yes!"


@pytest.mark.parametrize(
    ("keep", "fixed", "start"),
    [
        (None, None, "The run doesn't compare"),
        (WORSE, BETTER, "The policy is worse than leaving queries alone"),
        (SAME, BETTER, "No gain"),
        (BETTER, None, "The policy beats leaving queries alone."),
        (BETTER, BETTER, "The policy beats leaving queries alone, and one action"),
        (BETTER, SAME, "The policy beats leaving queries alone; one action for all does about"),
        (BETTER, WORSE, "Better than leaving queries alone, but one action"),
    ],
)
def test_a_run_without_a_verdict_gets_one_from_its_tests(
    keep: Versus | None, fixed: Versus | None, start: str
) -> None:
    assert verdict(record(keep, fixed)).startswith(start)


def test_the_headline_counts_collections() -> None:
    assert headline([record(BETTER)]) == verdict(record(BETTER))
    assert headline([record(BETTER), record(SAME)]) == (
        "The policy beats leaving queries alone on 1 of 2 collections."
    )
    assert headline([record(BETTER), record(WORSE)]).endswith("and is worse on 1.")
    assert headline([record(SAME), record(SAME)]).startswith("No difference")
    assert headline([record(WORSE), record(SAME)]) == (
        "The policy is worse than leaving queries alone on 1 of 2 collections, and better on none."
    )
    assert headline([record(None), record(None)]).startswith("No comparison")


def test_the_summary_says_what_there_is() -> None:
    assert summary(record(None)) == []
    full = Record(
        name="a",
        retriever="b",
        facts={"metric": "ndcg@10"},
        counts={"n_queries": 1200},
        values={"keep": 0.5, "policy": 0.6},
        versus_keep=BETTER,
        helped_share=0.3,
        hurt_share=0.1,
    )
    assert summary(full) == [
        "Over 1,200 held-out queries, ndcg@10 goes from 0.500 (every query as it is) to 0.600 "
        "(the policy).",
        "Policy against keep: +0.100 (95% interval +0.050 to +0.150, p = 0.0010).",
        "30% of the queries are helped, 10% hurt; the rest score the same.",
    ]


def test_headroom_is_told_as_far_as_it_is_known() -> None:
    assert room_sentences(Room(None, None, None, None)) == []
    assert room_sentences(Room("too_small", None, None, 0.25)) == [
        "Headroom, measured before training: there were too few queries to tell.",
        "Actions score differently on 25% of queries.",
    ]
    assert "some new word" in room_sentences(Room("some_new_word", None, None, None))[0]
