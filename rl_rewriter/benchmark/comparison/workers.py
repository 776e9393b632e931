"""Processes that share out calls of a function and never outlive the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TypeVar

from rl_rewriter.errors import TrainingError

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class Workers:
    """A pool of processes, started when there is first something to share out.

    Processes are spawned, which is alike on all systems: functions and inputs must be picklable,
    and a script that gets here must guard its entry point by ``if __name__ == "__main__"``. They
    end when the block ends, however it does, and when this process is killed.

    Args:
        n_workers: Processes at most; with one, everything is done in this process.
    """

    def __init__(self, n_workers: int = 1) -> None:
        self._n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None
        self._ends: tuple[Connection, Connection] | None = None

    def run(
        self, function: Callable[[InputT], ResultT], inputs: Sequence[InputT]
    ) -> Iterator[tuple[int, ResultT]]:
        """Results with the positions of their inputs, in the order in which they are done.

        Args:
            function: What to run; defined at the top of a module.
            inputs: One call each; a single one is made in this process.

        Raises:
            TrainingError: A process died.
        """
        if min(self._n_workers, len(inputs)) < 2:
            for position, one in enumerate(inputs):
                yield position, function(one)
            return
        try:
            pool = self._started()
            position_of = {pool.submit(function, one): i for i, one in enumerate(inputs)}
            for done in as_completed(position_of):
                yield position_of[done], done.result()
        except BrokenProcessPool as error:
            raise TrainingError(
                "a process that trains a policy was ended from outside, perhaps for want of "
                "memory; run again with --workers 1, what is done is kept"
            ) from error

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._ends = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                self._n_workers, context, _live_while_held, (self._ends[0],)
            )
        return self._pool

    def __enter__(self) -> Workers:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes at once, whatever they are at."""
        if self._ends is not None:
            self._ends[1].close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _live_while_held(lifeline: Connection) -> None:
    """End this process when the other end of a pipe is closed; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        with suppress(EOFError, OSError):
            lifeline.recv()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
