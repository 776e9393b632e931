"""How much is kept in memory for later requests, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from rl_rewriter.errors import InputError

DAY_S = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class CacheConfig:
    """Bounds of a cache.

    Attributes:
        seconds: How long a value is used after it was computed.
        max_entries: Values kept; the one that wasn't asked for the longest makes room.
        max_bytes: The same for their estimated size, keys included.
        wait_seconds: How long a value is waited for that another thread is computing; after that
            it is computed once more, so that a thread that hangs can't hold up all others.
        collection_version: What tells the state of a collection: equal as long as every search
            gives the same, None where that can't be told and nothing may be kept. By default, what
            the collection itself tells
            (:func:`rl_rewriter.retrieval.chroma_version.collection_version`).

    Raises:
        InputError: A bound is out of range.
    """

    seconds: float = DAY_S
    max_entries: int = 20_000
    max_bytes: int = 64 * 2**20
    wait_seconds: float = 1.0
    collection_version: Callable[[Any], Hashable | None] | None = None

    def __post_init__(self) -> None:
        """Refuse bounds under which nothing could be kept: no cache at all is ``None``."""
        bounds = {
            "seconds": self.seconds,
            "max_entries": self.max_entries,
            "max_bytes": self.max_bytes,
            "wait_seconds": self.wait_seconds,
        }
        for name, value in bounds.items():
            if not value > 0:
                raise InputError(f"{name} of a cache must be above 0, got {value}")
