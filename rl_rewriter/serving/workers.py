"""Threads that our own work runs in, so that who waits for it can stop waiting."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork

T = TypeVar("T")

_WAITING, _RUNNING, _DONE, _LEFT = range(4)


class LateError(Exception):
    """The work wasn't done in time; it goes on by itself, and its result is dropped."""


class OverloadedError(Exception):
    """No thread was free in time."""


class ExitedError(Exception):
    """The work asked for an exit, which is no exit of the thread that waits."""


class _Task(Generic[T]):
    """One piece of work; its state is guarded by the lock of the workers."""

    __slots__ = ("_context", "_told", "_work", "done", "error", "result", "state")

    def __init__(self, work: Callable[[], T], told: Callable[[], None] | None) -> None:
        self._work: Callable[[], T] | None = work
        self._told = told
        self._context: contextvars.Context | None = contextvars.copy_context()
        self.state = _WAITING
        self.result: T | None = None
        self.error: Exception | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        context, work = self._context, self._work
        self._context = self._work = None
        if context is None or work is None:
            return
        try:
            self.result = context.run(work)
        except Exception as error:
            self.error = error
        except BaseException as error:
            self.error = ExitedError(type(error).__name__)
            self.error.__cause__ = error

    def tell(self) -> None:
        self.done.release()
        if self._told is not None:
            self._told()


class Workers:
    """Daemon threads, made when needed and reused: they never hold the interpreter's end up.

    Each piece of work runs in a copy of the caller's context, so that tracing and context variables
    see the request that it belongs to. At most ``limit`` threads run; while they are busy, work
    waits for one until its time is up. Where all of them are stuck with work that nobody waits for
    any more, further work is refused at once.

    Args:
        limit: Threads at most.
        idle_seconds: After which a thread without work ends.

    Raises:
        InputError: The limit is below 1.
    """

    def __init__(self, limit: int = 64, *, idle_seconds: float = 10.0) -> None:
        if limit < 1:
            raise InputError(f"there must be at least 1 thread, got {limit}")
        self._limit = limit
        self._idle_seconds = idle_seconds
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Begin without threads: where they were copied to, or forked into, there are none."""
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_Task[Any]] = queue.SimpleQueue()
        self._threads = self._stuck = 0
        self._free = 0
        """Threads without work, less pieces of work without a thread."""

    @property
    def stuck(self) -> int:
        """Threads at work that nobody waits for any more."""
        return self._stuck

    @property
    def threads(self) -> int:
        """Threads there are."""
        return self._threads

    def within(self, work: Callable[[], T], seconds: float | None) -> T:
        """The result of ``work``, in another thread.

        Args:
            work: What to do; its own errors are raised here.
            seconds: How long to wait; None for as long as it takes.

        Raises:
            LateError: It began, and wasn't done in time.
            OverloadedError: No thread was free for it in time.
            ExitedError: It raised ``SystemExit`` or the like.
        """
        task = self._submitted(work, None)
        try:
            task.done.acquire(timeout=-1 if seconds is None else min(seconds, _LONGEST))
        except BaseException:
            self._leave(task)
            raise
        return self._outcome(task)

    async def awaited(self, work: Callable[[], T], seconds: float | None) -> T:
        """As :meth:`within`, without blocking the event loop."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        def told() -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(end)

        task = self._submitted(work, told)
        timer = None if seconds is None else loop.call_later(seconds, end)
        try:
            await over
        except BaseException:
            self._leave(task)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return self._outcome(task)

    def send(self, work: Callable[[], object]) -> None:
        """Have ``work`` done without waiting for it; its errors are dropped.

        Raises:
            OverloadedError: All threads are stuck.
        """
        self._submitted(work, None)

    def _submitted(self, work: Callable[[], T], told: Callable[[], None] | None) -> _Task[T]:
        task = _Task(work, told)
        with self._lock:
            if self._stuck >= self._limit:
                raise OverloadedError
            self._free -= 1
            is_short = self._free < 0 and self._threads < self._limit
            if is_short:
                self._threads += 1
                self._free += 1
        if is_short:
            self._start()
        self._queue.put(task)
        return task

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, daemon=True, name="rl-rewriter-worker")
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more, or the interpreter is ending
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    raise OverloadedError from error
                self._free -= 1

    def _serve(self) -> None:
        tasks = self._queue
        while True:
            try:
                task = tasks.get(timeout=self._idle_seconds)
            except queue.Empty:
                with self._lock:
                    if self._free > 0:
                        self._free -= 1
                        self._threads -= 1
                        return
                continue
            self._do(task)
            del task  # what it holds isn't kept until the next one comes

    def _do(self, task: _Task[Any]) -> None:
        with self._lock:
            is_wanted = task.state == _WAITING
            if is_wanted:
                task.state = _RUNNING
            else:
                self._free += 1
        if not is_wanted:
            return
        task.run()
        with self._lock:
            self._stuck -= task.state == _LEFT
            self._free += 1
            task.state = _DONE
        task.tell()

    def _leave(self, task: _Task[T]) -> int:
        """Stop waiting for a task; the state that it was in."""
        with self._lock:
            state = task.state
            if state != _DONE:
                task.state = _LEFT
                self._stuck += state == _RUNNING
            return state

    def _outcome(self, task: _Task[T]) -> T:
        state = self._leave(task)
        if state == _WAITING:
            raise OverloadedError
        if state == _RUNNING:
            raise LateError
        error, task.error = task.error, None
        if error is None:
            return cast(T, task.result)
        try:
            raise error
        finally:
            del error  # else the error would hold this frame, and this frame the error


_LONGEST = threading.TIMEOUT_MAX
