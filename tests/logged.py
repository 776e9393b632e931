"""Records of decision logs made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DRAWN = {"keep": 0.5, "keywords": 0.3, "topic": 0.2}
"""A distribution over three actions."""


def decision(name: str = "1", **changed: Any) -> dict[str, Any]:
    """A drawn decision of the format with all its keys; ``changed`` replaces some."""
    record: dict[str, Any] = {
        "schema": 1,
        "type": "decision",
        "id": name,
        "time": 100.0,
        "query": "money back?",
        "history_len": 0,
        "action": "keywords",
        "strength": 1.0,
        "texts": ["money back"],
        "propensity": None,
        "probabilities": dict(DRAWN),
        "state": [0.25, -1.0],
        "state_schema": "columns",
        "policy_version": "v1",
        "policy_name": "mlp",
        "explored": True,
        "reason": "explored",
        "documents": [{"id": "a", "score": 0.5}, {"id": "b", "score": None}],
        "latency_ms": 1.5,
        "cost": 0.0,
        "tags": {},
    }
    record |= changed
    if record["propensity"] is None and "propensity" not in changed:
        record["propensity"] = (record["probabilities"] or {}).get(record["action"])
    return record


def feedback(name: str = "1", value: Any = 1.0, kind: str = "reward", **changed: Any) -> Any:
    """An outcome of the format with all its keys; ``changed`` replaces some."""
    return {
        "schema": 1,
        "type": "feedback",
        "decision_id": name,
        "time": 200.0,
        "kind": kind,
        "value": value,
        "position": None,
        "document_id": None,
    } | changed


def write_lines(path: Path, records: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """A log of these records; bytes stand as they are."""
    path.write_bytes(
        b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records)
    )
    return path
