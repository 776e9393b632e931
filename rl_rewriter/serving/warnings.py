"""Warnings of what happens at every request, told once a minute."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from rl_rewriter.forks import renewed_after_fork

_logger = logging.getLogger(__name__)


class RareWarnings:
    """Warns once a while about each subject, and says how many warnings it held back.

    No text of a query is ever in a warning: of an error it names the type alone. At debug level
    the error is told with its traceback, every time.

    Args:
        seconds: Between two warnings about one subject.
        clock: Seconds that only grow.
    """

    def __init__(
        self, seconds: float = 60.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._told: dict[str, float] = {}
        self._held_back: dict[str, int] = {}
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def warn(self, subject: str, error: BaseException | None = None) -> None:
        """Tell a subject with the type of an error.

        Args:
            subject: A sentence out of few, such as "query kept (fallback:timeout)".
            error: What caused it.
        """
        if error is not None:
            _logger.debug("%s", subject, exc_info=error)
        with self._lock:
            now, last = self._clock(), self._told.get(subject)
            if last is not None and now - last < self._seconds:
                self._held_back[subject] = self._held_back.get(subject, 0) + 1
                return
            self._told[subject] = now
            n_held_back = self._held_back.pop(subject, 0)
        kind = f": {type(error).__name__}" if error is not None else ""
        more = f" (and {n_held_back} times since the last warning)" if n_held_back else ""
        _logger.warning("%s%s%s", subject, kind, more)
