"""Feedback made afterwards: what judgements or a judge say about the documents that were logged."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import Feedback, LoggedInteraction, Qrels, ScoredDocument

Judge = Callable[[str, Sequence[ScoredDocument]], float]
"""Says from 0 to 1 how well documents, best first, answer a query: a language model, a person."""
TextsOf = Callable[[Sequence[str]], Mapping[str, str]]
"""Looks texts up by document id; those that are gone may be missing."""

JUDGE_KIND = "judge"
QUERY_ID_TAG = "query_id"
_MAX_PROBLEMS = 20


def reward_from_qrels(
    interaction: LoggedInteraction,
    qrels: Qrels,
    metric: Metric,
    *,
    query_ids: Mapping[str, str] | None = None,
) -> float | None:
    """What the logged documents are worth by judgements; None where the query isn't judged.

    Args:
        interaction: A logged decision.
        qrels: Query id -> document id -> grade.
        metric: How a ranking is judged.
        query_ids: Logged query -> id, for decisions whose tags have no ``query_id``.
    """
    record = interaction.decision
    name = (record.get("tags") or {}).get(QUERY_ID_TAG)
    if name is None:
        name = (query_ids or {}).get(record.get("query") or "")
    grades = None if name is None else qrels.get(str(name))
    documents = record.get("documents")
    if grades is None or documents is None:
        return None
    return metric([document["id"] for document in documents], grades)


def feedback_from_qrels(
    records: Iterable[Mapping[str, Any]],
    qrels: Qrels,
    metric: Metric,
    *,
    query_ids: Mapping[str, str] | None = None,
) -> Iterator[Feedback]:
    """One feedback of the metric's name for each judged decision, at the decision's own time.

    Args:
        records: Of a decision log; those of feedback are passed over.
        qrels: As for :func:`reward_from_qrels`.
        metric: Likewise.
        query_ids: Likewise.
    """
    for record in _decisions(records):
        value = reward_from_qrels(LoggedInteraction(record), qrels, metric, query_ids=query_ids)
        if value is not None:
            yield Feedback(record["id"], value, metric.name, float(record["time"]))


@dataclass
class JudgeReport:
    """How judging went.

    Attributes:
        judged: Decisions with a verdict.
        failed: Reason -> decisions without one.
        problems: The first of those, in words.
    """

    judged: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def fail(self, decision_id: str, reason: str, sentence: str) -> None:
        """Count a decision without a verdict."""
        self.failed[reason] += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"decision {decision_id}: {sentence}")


def feedback_from_judge(
    records: Iterable[Mapping[str, Any]],
    judge: Judge,
    *,
    texts_of: TextsOf | None = None,
    report: JudgeReport | None = None,
) -> Iterator[Feedback]:
    """Ask a judge about each decision; one that fails is counted, and the next is asked.

    Args:
        records: Of a decision log; those of feedback are passed over.
        judge: Called with the query and the documents, best first.
        texts_of: Where the documents' texts are, which logs don't hold; without it the judge gets
            ids and scores.
        report: Filled while judging.

    Yields:
        Feedback of kind "judge".
    """
    report = JudgeReport() if report is None else report
    for record in _decisions(records):
        id_, query = record["id"], record.get("query")
        if query is None:
            report.fail(id_, "no_query", "its query wasn't logged")
            continue
        try:
            verdict = judge(query, _documents(record, texts_of))
            value = float(verdict)
        except Exception as error:
            report.fail(id_, "judge_failed", f"the judge raised {type(error).__name__}: {error}")
            continue
        if not 0.0 <= value <= 1.0 or math.isnan(value):
            report.fail(id_, "off_scale", f"the judge said {value}, which isn't from 0 to 1")
            continue
        report.judged += 1
        yield Feedback(id_, value, JUDGE_KIND, time.time())


def _decisions(records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (record for record in records if record.get("type") == "decision")


def _documents(record: Mapping[str, Any], texts_of: TextsOf | None) -> list[ScoredDocument]:
    entries = record.get("documents") or ()
    texts = texts_of([entry["id"] for entry in entries]) if texts_of and entries else {}
    return [
        ScoredDocument(entry["id"], entry.get("score"), texts.get(entry["id"])) for entry in entries
    ]
