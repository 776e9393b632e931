"""Judgements made afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.judging import (
    JudgeReport,
    feedback_from_judge,
    feedback_from_qrels,
    reward_from_qrels,
)
from rl_rewriter.logs.records import feedback_record
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import LoggedInteraction, ScoredDocument
from tests.logged import decision, feedback

QRELS = {"q1": {"b": 1.0, "z": 1.0}}
NDCG = Metric("ndcg", 10)


def test_the_logged_documents_are_judged() -> None:
    found = reward_from_qrels(
        LoggedInteraction(decision(tags={"query_id": "q1"})), QRELS, Metric("mrr", 10)
    )
    assert found == 0.5


def test_a_query_is_known_by_its_words_too() -> None:
    interaction = LoggedInteraction(decision(query="money back?"))
    ids = {"money back?": "q1"}
    assert reward_from_qrels(interaction, QRELS, Metric("recall", 2), query_ids=ids) == 0.5
    assert reward_from_qrels(interaction, QRELS, NDCG) is None


@pytest.mark.parametrize(
    "changed",
    [{"tags": {"query_id": "other"}}, {"query": None}, {"documents": None}, {"tags": None}],
)
def test_what_is_not_judged_has_no_reward(changed: Mapping[str, object]) -> None:
    interaction = LoggedInteraction(decision() | {"query": "other", **changed})
    assert reward_from_qrels(interaction, QRELS, NDCG, query_ids={"money back?": "q1"}) is None


def test_no_documents_are_worth_nothing() -> None:
    interaction = LoggedInteraction(decision(documents=[], tags={"query_id": "q1"}))
    assert reward_from_qrels(interaction, QRELS, NDCG) == 0.0


def test_judgements_become_feedback_that_becomes_a_dataset() -> None:
    records = [decision("1", tags={"query_id": "q1"}), decision("2"), feedback("2", 9.0)]
    came = list(feedback_from_qrels(records, QRELS, Metric("mrr", 10)))
    assert [(f.decision_id, f.value, f.kind, f.time) for f in came] == [("1", 0.5, "mrr@10", 100.0)]
    bandit, _ = dataset([*records, *map(feedback_record, came)])
    assert bandit.rewards.tolist() == [0.5, 9.0]


def test_a_judge_sees_the_query_and_the_documents() -> None:
    seen: list[tuple[str, list[ScoredDocument]]] = []

    def judge(query: str, documents: Sequence[ScoredDocument]) -> float:
        seen.append((query, list(documents)))
        return 0.75

    records = [decision("1"), feedback("1"), decision("2", documents=None)]
    report = JudgeReport()
    came = list(
        feedback_from_judge(records, judge, texts_of=lambda ids: {"a": "text a"}, report=report)
    )
    assert [(f.decision_id, f.value, f.kind) for f in came] == [
        ("1", 0.75, "judge"),
        ("2", 0.75, "judge"),
    ]
    assert seen == [
        ("money back?", [ScoredDocument("a", 0.5, "text a"), ScoredDocument("b", None)]),
        ("money back?", []),
    ]
    assert (report.judged, report.failed) == (2, {})


def test_a_judge_that_fails_is_counted_and_asked_again() -> None:
    answers = iter([math.nan, 1.5, "good", 1])

    def judge(query: str, documents: Sequence[ScoredDocument]) -> float:
        if query == "timeout":
            raise TimeoutError("too slow")
        return next(answers)  # type: ignore[return-value]

    queries = ["timeout", None, "q", "q", "q", "q"]
    records = [decision(str(number), query=query) for number, query in enumerate(queries)]
    report = JudgeReport()
    [only] = feedback_from_judge(records, judge, report=report)
    assert (only.decision_id, only.value) == ("5", 1.0)
    assert report.failed == {"judge_failed": 2, "no_query": 1, "off_scale": 2}
    assert report.problems[0] == "decision 0: the judge raised TimeoutError: too slow"
    assert report.problems[1] == "decision 1: its query wasn't logged"
    assert report.problems[2] == "decision 2: the judge said nan, which isn't from 0 to 1"
