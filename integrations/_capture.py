"""What both capture handlers share: runs that are open now, and a log that never stops a chain."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.logs.importers.documents import Documents
from rl_rewriter.logs.importers.observed import Asked, Origin, asked_for, observed_decision
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.serving.warnings import RareWarnings
from rl_rewriter.serving.write_behind import WriteBehind
from rl_rewriter.types import Feedback

_MAX_OPEN = 10_000
"""Runs whose end was never told (a cancelled task) are forgotten beyond this."""
_MAX_WAITING = 1_000
"""Decisions that may wait for the log; what comes while it hangs is dropped."""
_FEEDBACK_SECONDS = 1.0
"""How long feedback lets the decisions before it go first."""


@dataclass
class OpenRun:
    """A run that has started and not ended.

    Attributes:
        id: Its name.
        parent: The run around it; "" at the root.
        is_retrieval: Whether it is a retriever's.
        question: What it was asked, and the number of messages before; no words where it has none.
        tags: What joins it to its conversation.
        is_own: Whether this package's own adapters log it.
        inner: Queries of the retrievals that it made itself.
        own_texts: What a rewriting step of this package has handed on inside it.
        start: Seconds since the epoch.
    """

    id: str
    parent: str
    is_retrieval: bool = False
    question: tuple[str | None, int] = (None, 0)
    tags: Mapping[str, Any] = field(default_factory=dict)
    is_own: bool = False
    inner: list[str] = field(default_factory=list)
    own_texts: set[str] = field(default_factory=set)
    start: float = field(default_factory=time.time)


class OpenRuns:
    """The open runs of all threads and tasks, by id."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, OpenRun] = OrderedDict()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of open runs."""
        return len(self._runs)

    def open(self, run: OpenRun) -> None:
        """A run has started."""
        with self._lock:
            self._runs[run.id] = run
            if len(self._runs) > _MAX_OPEN:
                self._runs.popitem(last=False)

    def get(self, id_: str) -> OpenRun | None:
        """The run of this id, while it is open."""
        with self._lock:
            return self._runs.get(id_)

    def close(self, id_: str) -> OpenRun | None:
        """A run has ended, well or not."""
        with self._lock:
            return self._runs.pop(id_, None)

    def around(self, run: OpenRun) -> list[OpenRun]:
        """Open runs around this one, from the nearest outward."""
        with self._lock:
            return list(self._around(run))

    def _around(self, run: OpenRun) -> Iterator[OpenRun]:
        for _ in range(_MAX_OPEN):
            outer = self._runs.get(run.parent)
            if outer is None or outer is run:
                return
            yield outer
            run = outer


class CaptureLog:
    """Writes what is captured, behind the chain's back: a thread of its own, with a bounded queue.

    Neither a log that fails nor one that hangs touches the chain: failures and what was dropped are
    counted, and warned of once a minute. The end of the process waits for what isn't written yet.

    Args:
        log: A decision log, or the file of one.
        source: The framework.
        log_queries: How a new log keeps queries; by default as a given log does, else their words.

    Attributes:
        captured: Decisions written.
        failures: Callbacks and writings in which something of ours failed.
        dropped: Decisions that weren't written, since too many were waiting for the log.
        own: Retrievals left to this package's own adapters.
    """

    def __init__(
        self, log: DecisionLog | str | Path, source: str, log_queries: QueryPrivacy | None = None
    ) -> None:
        if not isinstance(log, DecisionLog):
            log = DecisionLog(log, log_queries=log_queries)
        self._log = log
        privacy = log_queries or self._log.config.log_queries
        self._origin = Origin(how="captured", source=source, log_queries=privacy)
        self.runs = OpenRuns()
        self.captured = 0
        self.failures = 0
        self.dropped = 0
        self.own = 0
        self._warnings = RareWarnings()
        self._writer = WriteBehind(_MAX_WAITING, self.failed)
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._counting = threading.Lock()

    def retrieved(self, run: OpenRun, documents: Documents | None) -> None:
        """A retrieval has ended: log it, unless another one around it stands for both.

        A retrieval of this package's own adapters is left to them, with all around and inside it.
        """
        around = self.runs.around(run)
        retrievals = [outer for outer in around if outer.is_retrieval]
        query, history_len = run.question
        is_own = run.is_own or any(o.is_own or query in o.own_texts for o in around)
        if retrievals:
            retrievals[-1].is_own |= is_own
            if query is not None:
                retrievals[-1].inner.append(query)
        elif is_own:
            with self._counting:
                self.own += 1
        elif query is not None:
            words = [(text, n) for text, n in (o.question for o in around) if text is not None]
            asked = asked_for((query, history_len), run.inner, words)
            self._send(run, asked, documents, around[-1] if around else run)

    def feedback(self, name: str, value: float, kind: str, **where: Any) -> None:
        """Append an outcome, behind the decisions that came before it; see the handlers."""
        feedback = Feedback(name, float(value), kind, time.time(), **where)
        self.flush(_FEEDBACK_SECONDS)
        self._log.append_feedback(feedback)

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until the log holds what was captured; see the handlers."""
        return self._writer.flush(seconds)

    def failed(self, error: Exception) -> None:
        """Count a failure, and tell it by its type alone: its text may hold words of the query."""
        with self._counting:
            self.failures += 1
        self._warnings.warn("a retrieval was not captured", error)

    def _send(self, run: OpenRun, asked: Asked, documents: Documents | None, root: OpenRun) -> None:
        tags = {
            "run_id": run.id,
            "parent_run_id": run.parent,
            "trace_id": root.parent or root.id,
            "source": self._origin.source,
            **run.tags,
        }
        times = (run.start, time.time())
        make = partial(observed_decision, run.id, asked, documents, times, tags, self._origin)
        if not self._writer.send(partial(self._write, make)):
            with self._counting:
                self.dropped += 1
            self._warnings.warn("a retrieval was not captured, the log is too slow")

    def _write(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._log.append(make())
        with self._counting:
            self.captured += 1
