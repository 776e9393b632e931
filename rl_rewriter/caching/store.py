"""A cache for several threads: each value is computed by one of them and shared by all."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # another one in Python 3.10
from typing import Any, NamedTuple

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.sizes import approximate_bytes
from rl_rewriter.forks import renewed_after_fork

_ENTRY_OVERHEAD = 500
"""Bytes of an entry's own records."""

Compute = Callable[[list[int]], Sequence[Any]]
"""From positions in the list of keys to one value for each."""


class CacheStats(NamedTuple):
    """What a cache did so far, and what it holds.

    Attributes:
        hits: Values that were there, or that another thread was computing.
        misses: Values that were computed.
        entries: Values held.
        bytes: Their estimated size, keys included.
    """

    hits: int
    misses: int
    entries: int
    bytes: int


class _Entry(NamedTuple):
    value: Any
    size: int
    expires: float


class ServingCache:
    """Keeps values by key: the least recently used make room, and all are dropped after a time.

    However many threads ask for a key at once, one computes its value and the others wait for it.
    No lock is held meanwhile. An error is told to those who wait and never kept. In a forked
    process it starts empty; a copy or a pickle of it is empty as well.

    Args:
        config: Its bounds.
        clock: Seconds that never run backwards.
    """

    def __init__(
        self, config: CacheConfig | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.config = config or CacheConfig()
        self._clock = clock
        self.renew()
        renewed_after_fork(self)

    def get_many(
        self,
        keys: Sequence[Hashable],
        compute: Compute,
        *,
        is_current: Callable[[], bool] = lambda: True,
    ) -> list[Any]:
        """One value a key, from what is kept, from other threads, or computed here in one call.

        Args:
            keys: Equal keys have one value, which is computed once.
            compute: Called with the positions whose values are needed; raises no worse than it
                would for its caller.
            is_current: Asked after computing: where it says no, the values are handed out but not
                kept.

        Raises:
            Exception: What ``compute`` raised.
        """
        found: dict[Hashable, Any] = {}
        awaited: dict[Hashable, tuple[int, Future[Any]]] = {}
        mine: dict[Hashable, tuple[int, Future[Any]]] = {}
        with self._lock:
            epoch, now = self._epoch, self._clock()
            for row, key in enumerate(keys):
                if key in found or key in awaited or key in mine:
                    continue
                entry = self._alive(key, now)
                if entry is not None:
                    found[key] = entry.value
                elif key in self._pending:
                    awaited[key] = row, self._pending[key]
                else:
                    mine[key] = row, Future()
                    self._pending[key] = mine[key][1]
            self._misses += len(mine)
            self._hits += len(found) + len(awaited)
        if mine:  # before waiting, so that two threads never wait for each other
            found.update(self._computed(mine, compute, is_current, epoch))
        for key, (row, flight) in awaited.items():
            found[key] = self._awaited(key, row, flight, compute, is_current)
        return [found[key] for key in keys]

    def get(self, key: Hashable) -> Any | None:
        """The value kept for a key; None where there is none."""
        with self._lock:
            entry = self._alive(key, self._clock())
            self._hits += entry is not None
            self._misses += entry is None
        return None if entry is None else entry.value

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value that was computed elsewhere."""
        entry = self._entry(key, value)
        with self._lock:
            self._keep(key, entry)

    def items(self) -> list[tuple[Hashable, Any]]:
        """All keys with their values, the least recently used first."""
        with self._lock:
            now = self._clock()
            return [(key, e.value) for key, e in self._entries.items() if e.expires > now]

    def clear(self) -> None:
        """Forget everything, and what is being computed as well."""
        with self._lock:
            self._entries.clear()
            self._pending.clear()
            self._bytes = 0
            self._epoch = object()

    def stats(self) -> CacheStats:
        """What it did so far, and what it holds."""
        with self._lock:
            return CacheStats(self._hits, self._misses, len(self._entries), self._bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the bounds alone."""
        return ServingCache, (self.config,)

    def renew(self) -> None:
        """Start empty: locks may be held, and values awaited, by threads that aren't here."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._pending: dict[Hashable, Future[Any]] = {}
        self._epoch = object()
        self._bytes = self._hits = self._misses = 0

    def _computed(
        self,
        mine: dict[Hashable, tuple[int, Future[Any]]],
        compute: Compute,
        is_current: Callable[[], bool],
        epoch: object,
    ) -> dict[Hashable, Any]:
        try:
            rows = [row for row, _ in mine.values()]
            values = dict(zip(mine, compute(rows), strict=True))
            entries = {}
            if is_current():
                entries = {key: self._entry(key, value) for key, value in values.items()}
        except BaseException as error:
            self._settle(mine, epoch, {})
            for _, flight in mine.values():
                # An error of several keys needn't be this one's, and an exit is its own thread's.
                if len(mine) == 1 and isinstance(error, Exception):
                    flight.set_exception(error)
                else:
                    flight.cancel()
            raise
        self._settle(mine, epoch, entries)
        for key, (_, flight) in mine.items():
            flight.set_result(values[key])
        return values

    def _settle(
        self,
        mine: dict[Hashable, tuple[int, Future[Any]]],
        epoch: object,
        entries: dict[Hashable, _Entry],
    ) -> None:
        """Keep what was computed, in the same moment in which it is no longer being computed."""
        with self._lock:
            for key, (_, flight) in mine.items():
                if self._pending.get(key) is flight:
                    del self._pending[key]
            if self._epoch is epoch:
                for key, entry in entries.items():
                    self._keep(key, entry)

    def _awaited(
        self,
        key: Hashable,
        row: int,
        flight: Future[Any],
        compute: Compute,
        is_current: Callable[[], bool],
    ) -> Any:
        try:
            return flight.result(timeout=self.config.wait_seconds)
        except (CancelledError, FutureTimeoutError):
            if flight.done() and not flight.cancelled():  # it was computing that timed out
                raise
        with self._lock:
            if self._pending.get(key) is flight:
                del self._pending[key]
        [value] = self.get_many([key], lambda _: compute([row]), is_current=is_current)
        return value

    def _entry(self, key: Hashable, value: Any) -> _Entry:
        size = _ENTRY_OVERHEAD + approximate_bytes(key) + approximate_bytes(value)
        return _Entry(value, size, self._clock() + self.config.seconds)

    def _alive(self, key: Hashable, now: float) -> _Entry | None:
        """The entry of a key, now the most recently used; called with the lock held."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires <= now:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        """Called with the lock held."""
        if key in self._entries:
            self._drop(key)
        if entry.size > self.config.max_bytes:
            return
        self._entries[key] = entry
        self._bytes += entry.size
        while len(self._entries) > self.config.max_entries or self._bytes > self.config.max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        self._bytes -= self._entries.pop(key).size
