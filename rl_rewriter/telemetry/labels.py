"""Values of a metric's label, bounded: each is a time series that somebody's server keeps."""

from __future__ import annotations

import threading
from collections import OrderedDict

from rl_rewriter.forks import renewed_after_fork

OTHER = "other"


class BoundedLabels:
    """The first values that are seen stand for themselves, all further ones for "other".

    Args:
        limit: How many stand for themselves.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def of(self, value: str) -> str:
        """The label of a value."""
        if value in self._known:
            return value
        with self._lock:
            if value in self._known or len(self._known) < self._limit:
                self._known.add(value)
                return value
        return OTHER


class LatestLabels:
    """The values that were used last; the one that wasn't for longest makes room.

    Args:
        limit: How many are kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used: OrderedDict[str, None] = OrderedDict()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def use(self, value: str) -> str | None:
        """Use a value; the one whose series is to be removed for it, where there is one."""
        with self._lock:
            self._used[value] = None
            self._used.move_to_end(value)
            return self._used.popitem(last=False)[0] if len(self._used) > self._limit else None
