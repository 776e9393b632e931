"""Numbers, names, times and labels, as the tools spell them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rl_rewriter.untrusted import is_too_much_json

_TRUE_LABELS = frozenset(
    {"correct", "relevant", "factual", "good", "helpful", "pass", "passed", "positive", "true"}
    | {"yes", "thumbs_up", "up", "like", "liked", "accept", "accepted", "success", "faithful"}
    | {"grounded"}
)
_FALSE_LABELS = frozenset(
    {"incorrect", "irrelevant", "not_relevant", "unrelated", "hallucinated", "bad", "unhelpful"}
    | {"not_helpful", "fail", "failed", "negative", "false", "no", "thumbs_down", "down"}
    | {"dislike", "disliked", "reject", "rejected", "failure", "unfaithful", "ungrounded"}
)
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,12}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII
)
_UNITS_OF_A_SECOND = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From this size on, a number of the epoch counts so many a second."""
_MAX_NAME_CHARS = 2_000
_EPOCH = datetime(1970, 1, 1)
_NESTED_JSON_CHARS = 16 * 1024 * 1024


def name_of(value: Any) -> str:
    """An id or a name as text; "" where there is none, or something far too long for one."""
    if isinstance(value, str):
        return value.strip() if len(value) <= _MAX_NAME_CHARS else ""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 128:
        return str(value)
    return ""


def number_of(value: Any) -> float | None:
    """A finite number, a truth value or a numeral as a float; None for anything else."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in ("true", "false"):
            return float(text == "true")
        value = text
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def label_value(label: Any) -> float | None:
    """1 or 0 for words whose meaning is beyond doubt ("relevant", "thumbs down"); else None."""
    if not isinstance(label, str):
        return None
    word = re.sub(r"[\s-]+", "_", label.strip().lower())
    if word in _TRUE_LABELS:
        return 1.0
    return 0.0 if word in _FALSE_LABELS else None


def seconds_of(value: Any) -> float | None:
    """Seconds since the epoch of an ISO time, a datetime or a number of s, ms, us or ns.

    A time without a zone is read as UTC, which is what the tools write.
    """
    if isinstance(value, str):
        try:
            return _seconds_of_datetime(datetime.fromisoformat(value))
        except ValueError:  # Python 3.10 knows fewer forms than the tools
            match = _MOMENT.fullmatch(value.strip())
        if match is not None:
            return _seconds_of_text(*match.groups())
    elif isinstance(value, datetime):
        return _seconds_of_datetime(value)
    number = number_of(value)
    if number is None or isinstance(value, bool):
        return None
    for size, unit in _UNITS_OF_A_SECOND:
        if abs(number) >= size:
            return number / unit
    return number


def parsed(value: Any) -> Any:
    """The value of a JSON object or array that is held as text; anything else unchanged."""
    if not isinstance(value, str) or len(value) > _NESTED_JSON_CHARS:
        return value
    if value.lstrip()[:1] not in ("{", "[") or is_too_much_json(value):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def mapping_of(value: Any) -> Mapping[str, Any]:
    """A JSON object, also one that is held as text; an empty one for anything else."""
    value = parsed(value)
    return value if isinstance(value, dict) else {}


def session_in(metadata: Any) -> str:
    """The conversation that metadata names, under any of the names that the tools agree on."""
    found = mapping_of(metadata)
    for key in ("session_id", "thread_id", "conversation_id"):
        if session := name_of(found.get(key)):
            return session
    return ""


def _seconds_of_text(day: str, clock: str, fraction: str | None, zone: str | None) -> float | None:
    offset = "+00:00" if zone in (None, "Z", "UTC") else zone
    if len(offset) == 5:
        offset = f"{offset[:3]}:{offset[3:]}"
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{offset}").timestamp()
    except (ValueError, OverflowError):
        return None
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


def _seconds_of_datetime(moment: datetime) -> float | None:
    try:
        return moment.timestamp() if moment.tzinfo else (moment - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None
