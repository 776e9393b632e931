"""Every reason for which a query is kept though a policy might have rewritten it."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "fallback:"
SHADOW = "shadow"
"""Reason of a decision that a policy made for the log alone: keep was served."""
DECIDED = ("policy", "explored")
"""Reasons of decisions that a policy made and that are served."""
UNTRAINED = "untrained"
"""Reason of every decision where there is no policy to ask."""

REFUSALS: Mapping[str, str] = {
    "blank_query": "there is nothing but white space in the query",
    "long_query": "the query is longer than 10,000 characters",
    "small_talk": "the query says nothing but a greeting or thanks, or no word at all",
    "no_retriever": "the policy looks at what the query retrieves, and nobody said where",
    "missing_evidence": "the retriever can't tell what the policy looks at",
    "search_type": "the LangChain retriever searches by MMR or by a score threshold",
    "search_kwargs": "the retriever has search arguments that our own search couldn't honour",
    "filters": "the LlamaIndex retriever's filters have no counterpart in Chroma",
    "query_mode": "the LlamaIndex retriever searches in another mode than by similarity",
    "restricted_ids": "the LlamaIndex retriever is bound to some of the documents",
    "own_embedding": "the LlamaIndex query brings an embedding or embedding texts of its own",
    "search_budget": "the decision needs more searches than the budget allows",
    "llm_budget": "the action made more calls of a language model than the budget allows",
    "kill_switch": "the kill switch is on",
    "circuit_open": "our own work kept failing, and is left alone for a while",
}
"""What keeps a query by rule; nothing is broken, so strict mode doesn't raise."""

FAILURES: Mapping[str, str] = {
    "history": "the earlier turns couldn't be read",
    "adapter": "something of ours around the decision failed: choosing how to search, for one",
    "evidence": "what the policy looks at couldn't be searched or embedded, or is rubbish",
    "policy_error": "features or policy failed, or gave numbers that are no probabilities",
    "action_error": "the action failed, or what it made is no rewrite",
    "search": "the rewrite couldn't be searched; also where the wrapped retriever failed on it",
    "timeout": "our own work took longer than the budget's seconds",
    "overloaded": "all of our threads are busy or stuck",
    "log_write": "the decision couldn't be written to the decision log, or not in time",
    "no_policy": "the checkpoint is missing, damaged or of another version, or none was assigned",
}
"""What keeps a query since something failed: strict mode raises instead."""

FALLBACKS: Mapping[str, str] = {**REFUSALS, **FAILURES}
"""Name -> meaning; the decision's reason is ``fallback:<name>``."""

BREAKS_CIRCUIT = FAILURES.keys() - {"history", "log_write", "no_policy", "overloaded"}
"""Failures that open the circuit breaker: those of the work that it protects from repeating."""


def failure_of(reason: str) -> str:
    """The name in a decision's reason where something failed; "" for any other reason."""
    name = reason.removeprefix(PREFIX)
    return name if name != reason and name in FAILURES else ""
