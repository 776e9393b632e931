"""The one cache of a process, which everything that serves shares, and its off switch."""

from __future__ import annotations

import os

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache

SWITCH = "RL_REWRITER_SERVING_CACHE"
"""Environment variable; "0", "off", "false" or "no": nothing is kept for later requests."""
_OFF = ("0", "off", "false", "no")

_chosen: list[ServingCache | None] = []


def default_cache() -> ServingCache | None:
    """The cache of this process; None where it is switched off."""
    if os.environ.get(SWITCH, "").strip().lower() in _OFF:
        return None
    if not _chosen:
        _chosen.append(ServingCache())
    return _chosen[0]


def use_cache(cache: ServingCache | CacheConfig | None) -> None:
    """Choose the cache of this process: before the first retriever is made.

    Args:
        cache: A cache, the bounds of a new one, or None for none at all. The environment variable
            ``RL_REWRITER_SERVING_CACHE`` can still switch it off.
    """
    _chosen[:] = [ServingCache(cache) if isinstance(cache, CacheConfig) else cache]
