"""The one cache of a process, which everything that serves shares, and its off switch."""

from __future__ import annotations

import os
from typing import Literal

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache

SWITCH = "RL_REWRITER_SERVING_CACHE"
"""Environment variable; "0", "off", "false" or "no": nothing is kept for later requests."""
_OFF = ("0", "off", "false", "no")

_chosen: list[ServingCache | None] = []


def default_cache() -> ServingCache | None:
    """The cache of this process; None where it is switched off."""
    if _is_off():
        return None
    if not _chosen:
        _chosen.append(ServingCache())
    return _chosen[0]


def chosen_cache(
    cache: ServingCache | CacheConfig | Literal["shared"] | None,
) -> ServingCache | None:
    """A cache by what a caller says of it; None where caches are switched off.

    Args:
        cache: "shared" for that of this process, a cache, the bounds of a new one, or None.
    """
    if cache == "shared":
        return default_cache()
    if cache is None or _is_off():
        return None
    return ServingCache(cache) if isinstance(cache, CacheConfig) else cache


def use_cache(cache: ServingCache | CacheConfig | None) -> None:
    """Choose the cache of this process: before the first retriever is made.

    Args:
        cache: A cache, the bounds of a new one, or None for none at all. The environment variable
            ``RL_REWRITER_SERVING_CACHE`` can still switch it off.
    """
    _chosen[:] = [ServingCache(cache) if isinstance(cache, CacheConfig) else cache]


def _is_off() -> bool:
    return os.environ.get(SWITCH, "").strip().lower() in _OFF
