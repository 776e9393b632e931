"""What drift is told by, of a decision: the same whether it comes from a log or is just made."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

from rl_rewriter.logs.gathered_decisions import GROUP_TAGS
from rl_rewriter.logs.joining import RUN_TAGS
from rl_rewriter.types import RewriteDecision

STAGE_TAG = "rollout_stage"


class Seen(NamedTuple):
    """One decision.

    Attributes:
        id: Of the decision.
        time: Seconds since the epoch.
        state: Raw features, float32; None where none was logged.
        schema: Fingerprint of their columns.
        action: Name of the action.
        reason: Why it was taken.
        version: Of the policy.
        group: Its conversation, else its own id.
        stage: Stage of a roll-out that it belongs to; "" for none.
        cost: In units of the reward.
        runs: Other names that feedback may call it by.
    """

    id: str
    time: float
    state: array[float] | None
    schema: str
    action: str
    reason: str
    version: str
    group: str
    stage: str
    cost: float
    runs: tuple[str, ...]


def seen_in(record: Mapping[str, Any]) -> Seen:
    """Of a valid decision record."""
    state = record.get("state")
    return _seen(
        record["id"],
        record["time"],
        array("f", state) if state else None,
        record.get("state_schema") or "",
        (record["action"], record.get("reason") or "", record.get("policy_version") or ""),
        record.get("cost") or 0.0,
        record.get("tags") or {},
    )


def seen_at(decision: RewriteDecision, tags: Mapping[str, Any]) -> Seen:
    """Of a decision that was just made, with the tags that are logged beside it."""
    return _seen(
        decision.id,
        decision.time,
        array("f", decision.state) if decision.state else None,
        decision.state_schema,
        (decision.action, decision.reason, decision.policy_version),
        decision.cost,
        tags,
    )


def _seen(
    id_: str,
    time: float,
    state: array[float] | None,
    schema: str,
    names: tuple[str, str, str],
    cost: float,
    tags: Mapping[str, Any],
) -> Seen:
    group = next((tags[tag] for tag in GROUP_TAGS if tags.get(tag) is not None), id_)
    runs = tuple(str(tags[tag]) for tag in RUN_TAGS if tags.get(tag) is not None)
    stage = str(tags.get(STAGE_TAG) or "")
    return Seen(id_, time, state, schema, *names, str(group), stage, cost, runs)
