"""LangSmith: runs and feedback, from the client, the API or a bulk export (Parquet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rl_rewriter.logs.importers.documents import documents_in
from rl_rewriter.logs.importers.found import OWN_RETRIEVER, Found, Step, Verdict
from rl_rewriter.logs.importers.questions import NO_QUESTION, Question, question_in
from rl_rewriter.logs.importers.scalars import (
    mapping_of,
    name_of,
    number_of,
    parsed,
    seconds_of,
    session_in,
)
from rl_rewriter.logs.importers.verdicts import verdict_of

_WITHOUT_QUESTION = frozenset({"llm", "prompt", "parser", "embedding"})
"""Types of runs inside which nothing is retrieved: their input need not be read."""


class LangSmith:
    """Runs of type "retriever" become decisions; feedback joins by run, else by trace.

    A run's ``session_id`` is its project; the conversation is in ``extra.metadata``.
    """

    tool = "langsmith"

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is a run or a feedback of LangSmith."""
        return "run_type" in row or ("key" in row and "run_id" in row)

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """The run, or the feedback; a run's feedback statistics count where nothing else does."""
        if "run_type" not in row:
            return _feedback(row)
        return _run(row)

    def close(self) -> Iterable[Found]:
        """Nothing is left over."""
        return ()


def _run(row: Mapping[str, Any]) -> Iterator[Found]:
    id_, kind = name_of(row.get("id")), name_of(row.get("run_type")).lower()
    trace, parent = name_of(row.get("trace_id")) or id_, name_of(row.get("parent_run_id"))
    if kind == "retriever":
        yield _retrieval(row, id_, trace, parent)
    else:
        question = NO_QUESTION if kind in _WITHOUT_QUESTION else question_in(row.get("inputs"))
        yield Step(id_, trace, parent, False, *question, session=_session(row))
    if stats := row.get("feedback_stats"):
        yield from _statistics(stats, id_, trace, seconds_of(row.get("end_time")))


def _retrieval(row: Mapping[str, Any], id_: str, trace: str, parent: str) -> Step:
    documents, n_hashed = documents_in(row.get("outputs"))
    question, history_len = _query(row.get("inputs"))
    end = seconds_of(row.get("end_time"))
    failure = "retrieval that failed" if row.get("error") else ""
    if not failure and end is None and not row.get("outputs"):
        failure = "retrieval that never ended"
    return Step(
        id=id_,
        trace=trace,
        parent=parent,
        is_retrieval=True,
        question=question,
        history_len=history_len,
        documents=documents,
        n_hashed=n_hashed,
        start=seconds_of(row.get("start_time")),
        end=end,
        session=_session(row),
        failure=failure,
        is_own=row.get("name") == OWN_RETRIEVER,
    )


def _query(inputs: Any) -> Question:
    """A retriever is handed a text, which is not looked into."""
    inputs = parsed(inputs)
    if isinstance(inputs, dict) and isinstance(query := inputs.get("query"), str):
        return (query, 0) if query.strip() else NO_QUESTION
    return question_in(inputs)


def _session(row: Mapping[str, Any]) -> str:
    for metadata in (mapping_of(row.get("extra")).get("metadata"), row.get("metadata")):
        if metadata and (session := session_in(metadata)):
            return session
    return name_of(row.get("thread_id"))


def _feedback(row: Mapping[str, Any]) -> list[Found]:
    score, value = row.get("score"), row.get("value")
    verdict = Verdict(
        name=name_of(row.get("key")),
        value=0.0,
        span=name_of(row.get("run_id")),
        trace=name_of(row.get("trace_id")),
        time=seconds_of(row.get("created_at")),
    )
    return verdict_of(verdict, value if score is None else score, value)


def _statistics(stats: Any, id_: str, trace: str, time: float | None) -> Iterator[Found]:
    for key, summary in mapping_of(stats).items():
        found = mapping_of(summary)
        if found.get("n") and (mean := number_of(found.get("avg"))) is not None:
            yield Verdict(name_of(key), mean, id_, trace, time, is_summary=True)
