"""Decision and feedback records of what was gathered from an export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rl_rewriter.logs.importers.documents import Documents
from rl_rewriter.logs.importers.found import Step, Verdict
from rl_rewriter.logs.importers.gathering import Gathering
from rl_rewriter.logs.importers.observed import Origin, observed_decision
from rl_rewriter.logs.importers.own_decision import own_decision
from rl_rewriter.logs.importers.report import Tally
from rl_rewriter.logs.importers.traces import Traces
from rl_rewriter.logs.records import feedback_record
from rl_rewriter.types import Feedback, OnProgress

_TOLD_EVERY = 1_000


def imported_decisions(
    gathering: Gathering, tally: Tally, origin: Origin, on_progress: OnProgress | None
) -> Iterator[dict[str, Any]]:
    """One record for each retrieval that lies in no other, in the order of the files.

    ``keep`` where the user's words were searched, "imported:rewrite" where something else was. A
    span of this package's own that carries its decision record gives that, propensity included.
    """
    traces = gathering.traces
    for number, step in enumerate(gathering.all_steps()):
        if on_progress is not None and not number % _TOLD_EVERY:
            on_progress("write", number, len(gathering.steps))
        if traces.is_inner(step.id) and not step.record:
            tally.reading.skipped["retrieval inside another one"] += 1
            continue
        traces.add_target(step)
        if step.id in gathering.positioned:
            gathering.documents[step.id] = step.documents
        if traces.is_around_recorded(step.id) or (step.is_own and not step.record):
            tally.reading.skipped["retrieval that this package has logged itself"] += 1
            continue
        record = _decision(step, traces, origin)
        tally.actions[record["action"]] += 1
        tally.with_propensity += record.get("propensity") is not None
        _note(step, tally)
        yield record


def feedback_records(gathering: Gathering, tally: Tally) -> Iterator[dict[str, Any]]:
    """One record for each verdict and decision that it is on."""
    single: set[tuple[str, str]] = set()
    if gathering.has_summaries:
        single = {(v.span, v.name) for v in gathering.all_verdicts() if not v.is_summary}
    for verdict in gathering.all_verdicts():
        if verdict.is_summary and (verdict.span, verdict.name) in single:
            tally.reading.skipped["mean of feedback that is there itself"] += 1
            continue
        targets = gathering.traces.targets(verdict)
        problem = _problem(verdict, targets, gathering.documents)
        if problem:
            tally.reading.skipped[problem] += 1
            continue
        if len(targets) > 1:
            tally.notes["feedback shared by the retrievals of its trace"] += 1
        if verdict.time is None:
            tally.notes["feedback without a time"] += 1
        for target in targets:
            tally.feedback += 1
            yield _feedback(verdict, target, gathering.documents)


def _decision(step: Step, traces: Traces, origin: Origin) -> dict[str, Any]:
    tags = {
        "run_id": step.id,
        "trace_id": step.trace,
        "session_id": traces.session(step),
        "source": origin.source,
    }
    if step.record and (
        own := own_decision(step, {**tags, "run_id": traces.outermost(step.id)}, origin)
    ):
        return own
    times = step.start, step.end
    return observed_decision(step.id, traces.asked(step), step.documents, times, tags, origin)


def _note(step: Step, tally: Tally) -> None:
    if step.start is None and step.end is None:
        tally.notes["retrievals without a time"] += 1
    if step.documents is None:
        tally.notes["retrievals whose documents weren't recorded"] += 1
    if step.n_hashed:
        tally.notes["documents without an id, named by a digest or by rank"] += step.n_hashed


def _problem(verdict: Verdict, targets: list[str], documents: dict[str, Documents | None]) -> str:
    """Why a verdict becomes no record; "" where it does."""
    if not targets:
        return "feedback on nothing that was imported"
    if verdict.position is None:
        return ""
    if targets != [verdict.span]:
        return "feedback on a document of a retrieval that wasn't imported by itself"
    ranking = documents.get(verdict.span)
    if ranking is not None and verdict.position >= len(ranking):
        return "feedback on a document beyond the ranking"
    return ""


def _feedback(
    verdict: Verdict, target: str, documents: dict[str, Documents | None]
) -> dict[str, Any]:
    ranking = documents.get(target) if verdict.position is not None else None
    named = ranking[verdict.position][0] if ranking and verdict.position is not None else None
    return feedback_record(
        Feedback(
            decision_id=target,
            value=verdict.value,
            kind=verdict.name,
            time=verdict.time or 0.0,
            position=verdict.position,
            document_id=verdict.document or named,
        )
    )
