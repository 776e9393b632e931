"""Decisions and feedback as the JSON objects of the decision-log format."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rl_rewriter.logs.asked import asked
from rl_rewriter.types import Feedback, RewriteDecision, ScoredDocument

SCHEMA = 1
QueryPrivacy = Literal["text", "hash", "none"]
_MAX_DEPTH = 50


def decision_record(
    decision: RewriteDecision,
    documents: Sequence[ScoredDocument] = (),
    *,
    log_queries: QueryPrivacy = "text",
    tags: Mapping[str, Any] | None = None,
    with_conversation: bool = False,
) -> dict[str, Any]:
    """One decision with the ids and scores of what came back; texts of documents are never logged.

    Args:
        decision: The decision.
        documents: What the retriever returned, best first.
        log_queries: "text" keeps the words, "hash" a digest of them, "none" nothing; so also for
            every text in ``tags`` that holds the query or what was searched for it.
        tags: Anything JSON that the caller wants beside it.
        with_conversation: Whether the conversation and the filters are kept where words are, so
            that the query can be searched again (:mod:`rl_rewriter.logs.asked`).
    """
    words = (decision.query.text, *decision.rewrite.texts)
    record = {
        "schema": SCHEMA,
        "type": "decision",
        "id": decision.id,
        "time": decision.time,
        "query": private_text(decision.query.text, log_queries),
        "history_len": len(decision.query.history),
        "action": decision.action,
        "strength": decision.strength,
        "texts": [private_text(text, log_queries) for text in decision.rewrite.texts],
        "propensity": decision.propensity,
        "probabilities": dict(decision.probabilities),
        "state": list(decision.state) if decision.state is not None else None,
        "state_schema": decision.state_schema,
        "policy_version": decision.policy_version,
        "policy_name": decision.policy_name,
        "explored": decision.explored,
        "reason": decision.reason,
        "documents": [{"id": d.id, "score": _finite(d.score)} for d in documents],
        "latency_ms": round(decision.latency_ms, 3),
        "cost": decision.cost,
        "tags": _without_words(tags or {}, words, log_queries),
    }
    if with_conversation and log_queries == "text":
        record["asked"] = asked(decision.query)
    return record | _of_blends(decision)


def _of_blends(decision: RewriteDecision) -> dict[str, Any]:
    """Keys that only decisions of a policy with a learned blend have."""
    told: dict[str, Any] = {}
    if decision.blends:
        told["blends"] = dict(decision.blends)
    if decision.sigma:
        told["sigma"] = decision.sigma
    if decision.log_density is not None:
        told |= {"weights": dict(decision.weights), "log_density": decision.log_density}
    return told


def feedback_record(feedback: Feedback) -> dict[str, Any]:
    """One outcome, joined to its decision by id."""
    return {
        "schema": SCHEMA,
        "type": "feedback",
        "decision_id": str(feedback.decision_id),
        "time": feedback.time,
        "kind": feedback.kind,
        "value": feedback.value,
        "position": feedback.position,
        "document_id": feedback.document_id,
    }


def _finite(score: float | None) -> float | None:
    """JSON knows no NaN and no infinity."""
    return float(score) if score is not None and math.isfinite(score) else None


def private_text(text: str, log_queries: QueryPrivacy) -> str | None:
    """What is logged of a text: itself, a digest of it, or nothing."""
    if log_queries == "text":
        return text
    if log_queries == "hash":
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return None


def _without_words(
    tags: Mapping[str, Any], words: Sequence[str], log_queries: QueryPrivacy
) -> dict[str, Any]:
    """A copy of tags in which no text holds any of the words; as they are where words are logged.

    Identifiers are looked at as a whole: a short query may happen to stand within one.
    """
    if log_queries == "text":
        return dict(tags)
    told = [word.strip().casefold() for word in words if word.strip()]

    def clean(value: Any, *, is_id: bool, depth: int) -> Any:
        if isinstance(value, str):
            folded = value.casefold()
            is_told = folded.strip() in told or (not is_id and any(word in folded for word in told))
            return private_text(value, log_queries) if is_told else value
        if isinstance(value, Mapping | list | tuple) and depth == 0:
            return None
        if isinstance(value, Mapping):
            return {
                clean(key, is_id=False, depth=0): clean(
                    item, is_id=str(key).endswith("id"), depth=depth - 1
                )
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [clean(item, is_id=is_id, depth=depth - 1) for item in value]
        return value

    cleaned: dict[str, Any] = clean(tags, is_id=False, depth=_MAX_DEPTH)
    return cleaned
