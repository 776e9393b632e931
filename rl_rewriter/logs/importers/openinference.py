"""The OpenInference conventions: which spans retrieve, with what query, and what they found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rl_rewriter.logs.importers.attributes import attribute, first_attribute, listed
from rl_rewriter.logs.importers.documents import documents_in
from rl_rewriter.logs.importers.found import OWN_RETRIEVER, Found, Step, Verdict
from rl_rewriter.logs.importers.own_decision import record_in
from rl_rewriter.logs.importers.questions import NO_QUESTION, Question, question_in
from rl_rewriter.logs.importers.scalars import name_of
from rl_rewriter.logs.importers.spans import RawSpan
from rl_rewriter.logs.importers.verdicts import verdict_of

_WITHOUT_QUESTION = frozenset({"LLM", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT"})
_FEEDBACK = {"annotations": "annotation", "evaluations": "evaluation"}


def kind_of(span: RawSpan) -> str:
    """The span kind of OpenInference in capitals; "" for other spans."""
    return name_of(attribute(span.attributes, "openinference.span.kind")).upper() or span.kind


def retrieval_step(span: RawSpan) -> Step:
    """The span as a step of its trace; with documents where its kind is RETRIEVER."""
    kind = kind_of(span)
    session = name_of(attribute(span.attributes, "session.id"))
    if kind != "RETRIEVER":
        question = NO_QUESTION
        if kind not in _WITHOUT_QUESTION:
            question = question_in(attribute(span.attributes, "input.value"))
        return Step(span.id, span.trace, span.parent, False, *question, session=session)
    question = question_in(attribute(span.attributes, "input.value"))
    return retrieval(span, question, listed(span.attributes, "retrieval.documents"), session)


def retrieval(span: RawSpan, question: Question, found: Any, session: str) -> Step:
    """A span that searched, with the documents that its attributes list; None where they don't."""
    documents, n_hashed = documents_in(found) if found is not None else (None, 0)
    return Step(
        span.id,
        span.trace,
        span.parent,
        True,
        *question,
        documents=documents,
        n_hashed=n_hashed,
        start=span.start,
        end=span.end,
        session=session,
        failure="retrieval that failed" if span.failed else "",
        is_own=span.name == OWN_RETRIEVER,
        record=record_in(span.attributes),
    )


def openinference_verdicts(span: RawSpan) -> Iterator[Found]:
    """Feedback among the attributes of a span, on the span itself or on its trace."""
    for scope in ("", "trace."):
        for name, item in _FEEDBACK.items():
            for element in listed(span.attributes, f"{scope}{name}") or ():
                if isinstance(element, dict):
                    yield from verdict_of(
                        Verdict(
                            name=name_of(attribute(element, f"{item}.name")),
                            value=0.0,
                            span="" if scope else span.id,
                            trace=span.trace,
                            time=span.end,
                        ),
                        first_attribute(element, (f"{item}.score",)),
                        first_attribute(element, (f"{item}.label",)),
                    )
