"""Counts of what serving did, for whoever watches it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.serving.events import Served

_MOST_NAMES = 100
"""Distinct names a table holds; what comes after counts as "other"."""


class Counters:
    """Requests by reason, action and policy, and what was spent on them; threads may share it."""

    def __init__(self) -> None:
        self._tables: dict[str, Counter[str]] = {
            name: Counter() for name in ("reasons", "actions", "policies", "adapters", "events")
        }
        self._sums: Counter[str] = Counter()
        self._seconds = 0.0
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def finished(self, served: Served) -> None:
        """Count one finished request."""
        decision = served.decision
        with self._lock:
            self._add("reasons", decision.reason)
            self._add("actions", decision.action)
            self._add("policies", decision.policy_version)
            self._add("adapters", served.adapter)
            self._sums["requests"] += 1
            self._sums["explored"] += decision.explored
            self._sums["searches"] += served.searches
            self._sums["llm_calls"] += served.llm_calls
            self._seconds += served.seconds

    def happened(self, event: str) -> None:
        """Count what is no request: an error of a listener, of tagging, of the log."""
        with self._lock:
            self._add("events", event)

    def snapshot(self) -> dict[str, Any]:
        """All counts as of now.

        Returns:
            "requests", "explored", "searches", "llm_calls" and "seconds" (our own time) as numbers;
            "reasons", "actions", "policies", "adapters" and "events" as objects of counts.
        """
        with self._lock:
            sums = {
                name: self._sums[name] for name in ("requests", "explored", "searches", "llm_calls")
            }
            tables = {name: dict(table) for name, table in self._tables.items()}
            return {**sums, "seconds": self._seconds, **tables}

    def _add(self, table: str, name: str) -> None:
        counts = self._tables[table]
        counts[name if name in counts or len(counts) < _MOST_NAMES else "other"] += 1
