"""Records written behind the work that they tell of: only the end of the process waits for them."""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial

from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.serving.workers import OverloadedError, Workers

EXIT_SECONDS = 5.0
"""How long the end of a process waits for all that isn't written yet."""


class WriteBehind:
    """Writes one thing after another in a thread of its own, in the order they were sent.

    What is sent when too much waits already is refused at once, so that a disk that hangs costs
    neither time nor memory. A forked process begins with nothing waiting: what its parent sent is
    its parent's to write.

    Args:
        limit: What may wait, what is being written included.
        on_error: Told of what a writing raised, in the thread that writes.

    Raises:
        InputError: The limit is below 1.
    """

    def __init__(self, limit: int, on_error: Callable[[Exception], None]) -> None:
        if limit < 1:
            raise InputError(f"at least 1 record must be allowed to wait, got {limit}")
        self._limit = limit
        self._on_error = on_error
        self._workers = Workers(1)
        self.renew()
        renewed_after_fork(self)
        _ALL.add(self)

    def renew(self) -> None:
        """Nothing waits, and nobody holds the lock."""
        self._changed = threading.Condition()
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """What isn't written yet."""
        return self._waiting

    def send(self, write: Callable[[], object]) -> bool:
        """Have something written soon; False where it is dropped, since too much waits."""
        with self._changed:
            if self._waiting >= self._limit:
                return False
            self._waiting += 1
        _flush_at_exit()
        try:
            self._workers.send(partial(self._do, write))
        except OverloadedError:  # the interpreter is ending: there are no more threads
            self._is_done()
            return False
        return True

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until nothing waits any more.

        Args:
            seconds: How long at most; None for as long as it takes.

        Returns:
            Whether everything that was sent has been written, or has failed.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, seconds)

    def _do(self, write: Callable[[], object]) -> None:
        try:
            write()
        except Exception as error:
            self._on_error(error)
        finally:
            self._is_done()

    def _is_done(self) -> None:
        with self._changed:
            self._waiting -= 1
            self._changed.notify_all()


def flush_all(seconds: float = EXIT_SECONDS) -> bool:
    """Flush everything of this process, as its end does; whether all of it was in time."""
    end = time.monotonic() + seconds
    return all([writer.flush(max(0.0, end - time.monotonic())) for writer in list(_ALL)])


def _flush_at_exit() -> None:
    """A child of ``multiprocessing`` may end without ``atexit``: it has a list of its own."""
    if multiprocessing.parent_process() is not None and _seen_to[0] != os.getpid():
        _seen_to[0] = os.getpid()
        multiprocessing.util.Finalize(None, flush_all, exitpriority=0)


_ALL: weakref.WeakSet[WriteBehind] = weakref.WeakSet()
_seen_to = [0]
"""The process whose end has been seen to."""
atexit.register(flush_all)
