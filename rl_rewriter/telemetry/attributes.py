"""A finished request as flat attributes, under OpenInference's names where those exist.

Values are texts, numbers and truth values alone, which every tracing system takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.encoding import to_line
from rl_rewriter.logs.observed_spans import PREFIX, RECORD
from rl_rewriter.logs.records import QueryPrivacy, decision_record, private_text
from rl_rewriter.telemetry.protocols import FinishedRequest
from rl_rewriter.types import RewriteDecision, ScoredDocument

Value = str | bool | int | float

_FALLBACK = "fallback:"
_MAX_DOCUMENTS = 100
"""Documents of one span: tracing systems refuse spans without end."""


def fallback_of(reason: str) -> str:
    """What went wrong, of a reason "fallback:<what>"; "" for other reasons."""
    return reason.removeprefix(_FALLBACK) if reason.startswith(_FALLBACK) else ""


def decision_fields(decision: RewriteDecision) -> dict[str, Value]:
    """A decision as flat values without a word of the query: what events of frameworks carry."""
    return {
        "decision_id": decision.id,
        "action": decision.action,
        "strength": decision.strength,
        "reason": decision.reason,
        "fallback": fallback_of(decision.reason),
        "propensity": decision.propensity,
        "explored": decision.explored,
        "policy_name": decision.policy_name,
        "policy_version": decision.policy_version,
        "latency_ms": round(decision.latency_ms, 3),
        "cost": decision.cost,
    }


def request_attributes(request: FinishedRequest) -> dict[str, Value]:
    """All ``rl_rewriter.*`` attributes of a request; no word of the query is among them.

    ``latency_ms`` is our own time for the whole request, not that of the decision alone.
    """
    fields: dict[str, Value] = {
        **decision_fields(request.decision),
        "latency_ms": round(1000.0 * request.seconds, 3),
        "searches": request.searches,
        "llm_calls": request.llm_calls,
        "adapter": request.adapter,
    }
    if request.n_documents is not None:
        fields["n_documents"] = request.n_documents
    return {f"{PREFIX}{name}": value for name, value in fields.items() if is_told(value)}


def record_attribute(request: FinishedRequest, log_queries: QueryPrivacy) -> dict[str, Value]:
    """The request's line of the decision log, so that an export of spans can be learned from.

    Nothing where a log couldn't hold it either.
    """
    documents = documents_of(request)
    record = decision_record(request.decision, documents or (), log_queries=log_queries)
    if documents is None:
        del record["documents"]
    try:
        return {RECORD: to_line(record).decode("ascii").rstrip("\n")}
    except InputError:
        return {}


def retrieval_attributes(request: FinishedRequest, log_queries: QueryPrivacy) -> dict[str, Value]:
    """The request as OpenInference describes a retrieval, without the documents' texts.

    Args:
        request: The request.
        log_queries: "text" gives the user's words as the input, "hash" a digest, "none" nothing.
    """
    found: dict[str, Value] = {"openinference.span.kind": "RETRIEVER"}
    words = private_text(request.decision.query.text, log_queries)
    if words is not None:
        found |= {"input.value": words, "input.mime_type": "text/plain"}
    session = request.tags.get("session_id")
    if isinstance(session, str) and session:
        found["session.id"] = session
    for rank, document in enumerate((documents_of(request) or ())[:_MAX_DOCUMENTS]):
        prefix = f"retrieval.documents.{rank}.document."
        found[f"{prefix}id"] = document.id
        if document.score is not None and math.isfinite(document.score):
            found[f"{prefix}score"] = float(document.score)
    return found


def documents_of(request: FinishedRequest) -> tuple[ScoredDocument, ...] | None:
    """What was handed over, of a request that tells it in ``documents``; else None."""
    documents: Any = getattr(request, "documents", None)
    return None if documents is None else tuple(documents)


def is_told(value: Value) -> bool:
    """Whether an attribute says anything: NaN and empty texts are left out."""
    return value != "" and not (isinstance(value, float) and not math.isfinite(value))


def merged(*parts: Mapping[str, Value]) -> dict[str, Value]:
    """Several groups of attributes as one."""
    return {name: value for part in parts for name, value in part.items()}
