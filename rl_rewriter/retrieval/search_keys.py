"""What a search is known by, so that only searches that must find the same share a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rl_rewriter.text.digests import digest
from rl_rewriter.types import Filters, Rewrite, Vector


def rewrite_key(rewrite: Rewrite) -> str:
    """Digest of everything in a rewrite that is searched."""
    return digest(
        [
            str(len(rewrite.texts)),
            *rewrite.texts,
            *(repr(float(weight)) for weight in rewrite.weights),
            _vector_key(rewrite.vector),
            "without words" if rewrite.without_words else repr(float(rewrite.lexical_weight)),
            *rewrite.words.texts,
            *(repr(float(share)) for share in rewrite.words.weights),
        ]
    )


def filter_key(filters: Filters | None) -> str | None:
    """Canonical JSON of a restriction, in full: no two restrictions have one key.

    None where it holds anything but plain JSON values: the name of an object may one day be
    another object's (:attr:`Filters.key` takes it, for use within one search).
    """
    if filters is None:
        return ""
    try:
        parts = [_plain(filters.where), _plain(filters.where_document)]
        return json.dumps(parts, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(part) for key, part in value.items()}
    raise TypeError(f"a {type(value).__name__} has no canonical form")


def _vector_key(vector: Vector | None) -> str:
    if vector is None:
        return ""
    return f"{vector.dtype.str}{vector.shape}{vector.tobytes().hex()}"
