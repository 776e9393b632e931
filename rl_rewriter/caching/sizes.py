"""Estimates of what values take up in memory."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping

import numpy as np

_ARRAY_OVERHEAD = 128
_RECORD_OVERHEAD = 64


def approximate_bytes(value: object) -> int:
    """Bytes of a value with all that it holds: arrays, texts, collections, dataclasses."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes) + _ARRAY_OVERHEAD
    if isinstance(value, str | bytes):
        return sys.getsizeof(value)
    if isinstance(value, Mapping):
        held = sum(approximate_bytes(part) for item in value.items() for part in item)
        return sys.getsizeof(value) + held
    if isinstance(value, tuple | list | set | frozenset):
        return sys.getsizeof(value) + sum(map(approximate_bytes, value))
    if dataclasses.is_dataclass(value):
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))
        return _RECORD_OVERHEAD + sum(map(approximate_bytes, fields))
    return sys.getsizeof(value, _RECORD_OVERHEAD)
