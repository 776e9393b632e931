"""Records as lines of JSON and back, whatever a caller or a file puts into them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.untrusted import is_too_much_json

MAX_LINE_BYTES = 1 << 24
"""Longer lines are neither written nor read: 16 MiB."""
_MAX_DEPTH = 50
_LARGEST = float(1 << 63)


def to_line(record: Mapping[str, Any]) -> bytes:
    """One line of ASCII JSON with its newline.

    What JSON cannot hold in ``tags`` is written as well as it can be: NaN as null, unknown objects
    as their text.

    Raises:
        InputError: A number elsewhere is NaN or infinite, or the line would be too long to be read.
    """
    try:
        text = _dumps(record)
    except (ValueError, TypeError, RecursionError):
        try:
            text = _dumps({**record, "tags": _plain(record.get("tags"), _MAX_DEPTH)})
        except (ValueError, TypeError, RecursionError) as error:
            name = f"{record.get('type')} {record.get('id', record.get('decision_id'))}"
            raise InputError(f"{name} can't be logged as JSON: {error}") from None
    line = text.encode("ascii") + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise InputError(
            f"a record of {len(line)} bytes is too long for a log, at most {MAX_LINE_BYTES} are "
            'read; log_queries="hash" shortens it'
        )
    if is_too_much_json(line):
        raise InputError("a record of so many values, or with so many commas, could not be read")
    return line


def from_line(line: bytes) -> Any:
    """What stands on a line; orjson reads it where it is installed, four times as fast.

    Integers beyond 64 bits are exact as tags only, where they may be somebody's ids.

    Raises:
        ValueError: No JSON.
        RecursionError: Nested too deeply.
    """
    try:
        found = _quick_loads(line)
    except ValueError:
        return json.loads(line)  # lone surrogates, NaN: JSON to the one, none to the other
    tags = found.get("tags") if type(found) is dict else None
    if tags and type(tags) is dict and any(map(_was_rounded, tags.values())):
        return json.loads(line)
    return found


def _was_rounded(value: Any) -> bool:
    return type(value) is float and abs(value) >= _LARGEST


def _load_quick_loads() -> Callable[[bytes], Any]:
    try:
        import orjson
    except ImportError:
        return json.loads
    loads: Callable[[bytes], Any] = orjson.loads
    return loads


_quick_loads = _load_quick_loads()


def _dumps(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=True, allow_nan=False, default=_default)


def _default(value: Any) -> Any:
    """JSON of what the standard encoder doesn't know."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, MappingProxyType):
        return dict(value)
    return str(value)


def _plain(value: Any, depth: int) -> Any:
    """A copy that JSON can hold: no NaN, text as keys, no loops."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if depth and isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    return str(value)
