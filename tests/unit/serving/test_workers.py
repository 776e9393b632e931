"""Threads of ours: waited for no longer than asked, never too many, and gone after a fork."""

from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.serving.workers import ExitedError, LateError, OverloadedError, Workers


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What stuck work waits for; opened at the end, so that no thread is left."""
    opened = threading.Event()
    yield opened
    opened.set()


def settled(is_so: Callable[[], bool]) -> bool:
    """Whether something comes to be so soon."""
    pause = threading.Event()
    return any(is_so() or pause.wait(0.005) for _ in range(1000))


async def test_results_and_errors_come_back() -> None:
    workers = Workers()
    assert workers.within(lambda: 7, 5.0) == 7
    assert workers.within(lambda: 7, None) == 7
    assert await workers.awaited(lambda: 8, 5.0) == 8
    with pytest.raises(ZeroDivisionError):
        workers.within(lambda: 1 // 0, 5.0)
    with pytest.raises(ZeroDivisionError):
        await workers.awaited(lambda: 1 // 0, None)


async def test_late_work_is_left_behind_and_goes_on(gate: threading.Event) -> None:
    workers, done = Workers(), threading.Event()

    def work() -> None:
        gate.wait()
        done.set()

    with pytest.raises(LateError):
        workers.within(work, 0.01)
    with pytest.raises(LateError):
        await workers.awaited(work, 0.01)
    assert workers.stuck == 2
    gate.set()
    assert done.wait(5.0)
    assert settled(lambda: workers.stuck == 0)


async def test_threads_are_reused_and_limited(gate: threading.Event) -> None:
    workers = Workers(limit=2)
    for _ in range(20):
        workers.within(lambda: None, 5.0)
    assert workers.threads <= 2
    for _ in range(2):
        with pytest.raises(LateError):
            workers.within(gate.wait, 0.01)
    with pytest.raises(OverloadedError):
        workers.within(lambda: None, 5.0)
    with pytest.raises(OverloadedError):
        await workers.awaited(lambda: None, 5.0)
    gate.set()
    assert settled(lambda: workers.stuck == 0)
    assert workers.within(lambda: 1, 5.0) == 1


def test_work_that_found_no_thread_in_time_is_never_done(gate: threading.Event) -> None:
    workers, done = Workers(limit=1), threading.Event()
    reached = threading.Event()

    def hold() -> None:
        reached.set()
        gate.wait()

    holder = threading.Thread(target=workers.within, args=(hold, None))
    holder.start()
    assert reached.wait(5.0)
    with pytest.raises(OverloadedError):
        workers.within(done.set, 0.01)
    gate.set()
    holder.join()
    assert workers.within(lambda: True, 5.0)
    assert not done.is_set()


def test_idle_threads_end() -> None:
    workers = Workers(idle_seconds=0.01)
    workers.within(lambda: None, 5.0)
    assert settled(lambda: workers.threads == 0)
    assert workers.within(lambda: 3, 5.0) == 3


async def test_the_callers_context_is_there() -> None:
    workers = Workers()
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    name.set("mine")
    assert workers.within(name.get, 5.0) == await workers.awaited(name.get, 5.0) == "mine"
    workers.within(lambda: name.set("changed"), 5.0)
    assert name.get() == "mine"


def test_an_exit_of_the_work_is_no_exit_of_the_caller() -> None:
    with pytest.raises(ExitedError, match="SystemExit"):
        Workers().within(lambda: sys.exit(3), 5.0)


async def test_a_cancelled_caller_is_cancelled_at_once(gate: threading.Event) -> None:
    workers, reached = Workers(), threading.Event()

    def work() -> None:
        reached.set()
        gate.wait()

    waiting = asyncio.create_task(workers.awaited(work, None))
    while not reached.is_set():
        await asyncio.sleep(0.001)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert workers.stuck == 1


async def test_many_at_once() -> None:
    workers = Workers(limit=4)
    work = [partial(int, number) for number in range(300)]
    results = await asyncio.gather(*(workers.awaited(each, 30.0) for each in work))
    assert results == list(range(300))
    assert workers.threads <= 4


def _in_child(workers: Workers, answers: multiprocessing.Queue[int]) -> None:
    answers.put(workers.within(lambda: 5, 5.0))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(gate: threading.Event) -> None:
    workers = Workers(limit=1)
    with pytest.raises(LateError):
        workers.within(gate.wait, 0.01)
    fork = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[int] = fork.Queue()
    child = fork.Process(target=_in_child, args=(workers, answers))
    child.start()
    assert answers.get(timeout=30.0) == 5
    child.join(30.0)
    assert child.exitcode == 0


def test_stuck_work_never_holds_the_interpreters_end_up() -> None:
    program = (
        "import time\n"
        "from rl_rewriter.serving.workers import LateError, Workers\n"
        "try:\n"
        "    Workers().within(lambda: time.sleep(600), 0.01)\n"
        "except LateError:\n"
        "    print('late')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "late\n"


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1 thread, got 0"):
        Workers(0)
