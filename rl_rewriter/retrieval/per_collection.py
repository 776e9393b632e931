"""What is kept for a Chroma collection, whichever objects stand for it, while its client lives."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from rl_rewriter.forks import renewed_after_fork

T = TypeVar("T")


class _Kept(NamedTuple):
    value: Any
    used: int


class PerCollection(Generic[T]):
    """One value a collection, for all objects that the same client made for it.

    A collection is known by its client, tenant, database and id: another one of its name, or the
    same id behind another client, has a value of its own. A client that is gone takes its values
    along, and the one that wasn't asked for the longest makes room, so what is kept must hold
    neither the client nor the collection. Threads may share it.

    Args:
        make: Makes the value of a collection that isn't known yet.
        limit: Values kept at most, of all clients together.
    """

    def __init__(self, make: Callable[[], T], limit: int) -> None:
        self._make = make
        self._limit = limit
        self._clock = itertools.count()
        self._clients: WeakKeyDictionary[Any, dict[Hashable, _Kept]] = WeakKeyDictionary()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Values kept now."""
        with self._lock:
            return sum(map(len, self._clients.values()))

    def of(self, collection: Any) -> T:
        """The collection's value; one that isn't kept where its client can't be told."""
        client = getattr(collection, "_client", None)
        names = tuple(str(getattr(collection, name, "")) for name in ("tenant", "database", "id"))
        with self._lock:
            try:
                known = self._clients.setdefault(collection if client is None else client, {})
            except TypeError:  # nothing can watch it
                return self._make()
            value: T = known[names].value if names in known else self._make()
            known[names] = _Kept(value, next(self._clock))
            self._make_room()
            return value

    def _make_room(self) -> None:
        """Drop what is too much; called with the lock held."""
        while sum(map(len, self._clients.values())) > self._limit:
            oldest = min(self._clients.values(), key=_last_used)
            del oldest[min(oldest, key=lambda names: oldest[names].used)]


def _last_used(known: dict[Hashable, _Kept]) -> float:
    """When the value that makes room first was used; of no values, never to be chosen."""
    return min((kept.used for kept in known.values()), default=float("inf"))
