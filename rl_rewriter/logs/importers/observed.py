"""Decision records of what some other chain did, as an export or a callback tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rl_rewriter.logs.importers.documents import Documents
from rl_rewriter.logs.records import SCHEMA, QueryPrivacy, private_text


class Asked(NamedTuple):
    """What the user asked, and what was searched instead; one is made for every decision.

    Attributes:
        query: The user's words: of the outermost span that has any.
        history_len: Earlier messages in that span's input.
        texts: What was searched.
    """

    query: str
    history_len: int
    texts: tuple[str, ...]

    @property
    def is_rewritten(self) -> bool:
        """Whether anything but the user's words was searched; spaces and case don't count."""
        if self.texts == (self.query,):
            return False
        return any(not is_same_text(text, self.query) for text in self.texts)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where observed decisions come from.

    Attributes:
        how: Whether an export or a callback told them.
        source: The tool or framework.
        log_queries: "text" keeps the words of queries, "hash" a digest of them, "none" nothing.
    """

    how: Literal["imported", "captured"]
    source: str
    log_queries: QueryPrivacy = "text"


def asked_for(
    own: tuple[str, int], inner: Sequence[str], around: Sequence[tuple[str, int]]
) -> Asked:
    """What a retrieval was asked for.

    Args:
        own: Its query, and the number of messages before it.
        inner: Queries of the retrievals that it made itself.
        around: Words and numbers of messages of the spans around it, from the nearest outward.
    """
    texts = tuple(dict.fromkeys(inner)) if inner else (own[0],)
    if not around:
        return Asked(own[0], own[1], texts)
    words, history_len = around[-1]
    if is_same_text(words, own[0]):
        return Asked(own[0], max(history_len, own[1]), texts)
    return Asked(words, history_len, texts)


def observed_decision(
    id_: str,
    asked: Asked,
    documents: Documents | None,
    times: tuple[float | None, float | None],
    tags: Mapping[str, Any],
    origin: Origin,
) -> dict[str, Any]:
    """A decision record without a propensity, since nobody drew what the chain did.

    Args:
        id_: Name of the retrieval.
        asked: What was asked and searched. The action is keep where that is the same, else
            "imported:rewrite" or "captured:rewrite".
        documents: What came back; None where that isn't known.
        times: Start and end of the retrieval, in seconds since the epoch.
        tags: What joins it to its run, trace and conversation; empty values are left out.
        origin: Where it comes from.
    """
    start, end = times
    took = None if start is None or end is None else end - start
    time = end if start is None else start
    is_rewritten = asked.is_rewritten
    tool = f":{origin.source}" if origin.how == "imported" else ""
    return {
        "schema": SCHEMA,
        "type": "decision",
        "id": id_,
        "time": 0.0 if time is None else time,
        "query": private_text(asked.query, origin.log_queries),
        "history_len": asked.history_len,
        "action": f"{origin.how}:rewrite" if is_rewritten else "keep",
        "strength": 1.0 if is_rewritten else 0.0,
        "texts": [private_text(text, origin.log_queries) for text in asked.texts],
        "propensity": None,
        "probabilities": {},
        "state": None,
        "state_schema": "",
        "policy_version": origin.how,
        "policy_name": origin.source,
        "explored": False,
        "reason": f"{origin.how}{tool}",
        "documents": [{"id": name, "score": score} for name, score in documents or ()],
        "latency_ms": None if took is None or took < 0 else round(took * 1000.0, 3),
        "cost": 0.0,
        "tags": {name: value for name, value in tags.items() if value},
    }


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts differ in spaces and case at most."""
    return one == other or _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
