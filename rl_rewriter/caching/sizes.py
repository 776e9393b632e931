"""Estimates of what values take up in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from sys import getsizeof

import numpy as np

_ARRAY_OVERHEAD = 128
_RECORD_OVERHEAD = 64


def approximate_bytes(value: object) -> int:
    """Bytes of a value with all that it holds: arrays, texts, collections, dataclasses."""
    if isinstance(value, str | bytes):
        return getsizeof(value)
    if isinstance(value, np.ndarray):
        return int(value.nbytes) + _ARRAY_OVERHEAD
    if isinstance(value, tuple | list | set | frozenset):
        return getsizeof(value) + _of_all(value)
    if isinstance(value, Mapping):
        return getsizeof(value) + _of_all((*value.keys(), *value.values()))
    if dataclasses.is_dataclass(value):
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))
        return _RECORD_OVERHEAD + sum(map(approximate_bytes, fields))
    return getsizeof(value, _RECORD_OVERHEAD)


def _of_all(parts: Collection[object]) -> int:
    if set(map(type, parts)) == {str}:  # ids, texts, metadata: measured at every request
        return sum(map(getsizeof, parts))
    return sum(map(approximate_bytes, parts))
