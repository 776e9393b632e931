"""Decision records that spans of this package's own carry, with their propensities."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rl_rewriter.logs.encoding import MAX_LINE_BYTES, from_line
from rl_rewriter.logs.importers.attributes import Attributes, attribute
from rl_rewriter.logs.importers.found import Step
from rl_rewriter.logs.importers.observed import Origin
from rl_rewriter.logs.observed_spans import RECORD
from rl_rewriter.logs.records import QueryPrivacy, private_text
from rl_rewriter.logs.schema import problem_of

_DIGEST = re.compile("[0-9a-f]{16}")


def record_in(attributes: Attributes) -> str:
    """The record among a span's attributes as JSON text; "" where there is none."""
    found = attribute(attributes, RECORD)
    if isinstance(found, dict):  # a tool has parsed it
        found = json.dumps(found)
    return found if isinstance(found, str) and len(found) <= MAX_LINE_BYTES else ""


def own_decision(step: Step, tags: Mapping[str, Any], origin: Origin) -> dict[str, Any] | None:
    """The record of a step that carries one; None where it is no valid decision record.

    Args:
        step: The step.
        tags: What joins it to its run, trace and conversation; they replace the record's own.
        origin: How queries may be kept: words that the span tells are made private again.
    """
    try:
        record = from_line(step.record.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    if problem_of(record) is not None or record["type"] != "decision":
        return None
    if origin.log_queries != "text":
        record.pop("asked", None)
    if step.documents is not None and "documents" not in record:
        record["documents"] = [{"id": name, "score": score} for name, score in step.documents]
    return {
        **record,
        "query": _kept_private(record.get("query"), origin.log_queries),
        "texts": [_kept_private(text, origin.log_queries) for text in record.get("texts") or ()],
        "tags": {name: value for name, value in tags.items() if value},
    }


def _kept_private(text: str | None, log_queries: QueryPrivacy) -> str | None:
    """As :func:`private_text`, but a digest stays what it is."""
    if text is None or (log_queries == "hash" and _DIGEST.fullmatch(text)):
        return text
    return private_text(text, log_queries)
