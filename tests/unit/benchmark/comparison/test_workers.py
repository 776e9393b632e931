"""Processes that share out work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.errors import InputError, TrainingError


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def fail(number: int) -> int:
    raise InputError(f"no {number}")


def die(number: int) -> int:
    os._exit(3)


def write_and_wait(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_results_come_with_the_position_of_their_input() -> None:
    with Workers(2) as workers:
        found = dict(workers.run(square, [3, 4, 5]))
        again = dict(workers.run(square, [6, 7]))
    assert {position: value for position, (value, _) in found.items()} == {0: 9, 1: 16, 2: 25}
    assert {position: value for position, (value, _) in again.items()} == {0: 36, 1: 49}
    assert os.getpid() not in {pid for _, pid in found.values()}


@pytest.mark.parametrize(("n_workers", "inputs"), [(1, [1, 2, 3]), (4, [2]), (4, [])])
def test_what_cannot_be_shared_is_done_here(n_workers: int, inputs: list[int]) -> None:
    with Workers(n_workers) as workers:
        found = list(workers.run(square, inputs))
    assert found == [(i, (n * n, os.getpid())) for i, n in enumerate(inputs)]


def test_an_error_of_a_process_is_raised_here() -> None:
    with Workers(2) as workers, pytest.raises(InputError, match="no 1"):
        list(workers.run(fail, [1, 1]))


def test_a_process_that_dies_is_told_of() -> None:
    with Workers(2) as workers, pytest.raises(TrainingError, match="ended from outside"):
        list(workers.run(die, [1, 2]))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_processes_at_what_they_are_at(
    tmp_path: Path, interruptible: None
) -> None:
    paths = [tmp_path / name for name in ("a", "b")]

    def interrupt_when_both_run() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not all(p.exists() and p.read_text() for p in paths):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_when_both_run).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(2) as workers:
        list(workers.run(write_and_wait, [str(path) for path in paths]))
    assert time.monotonic() - started < 50
    assert not any(is_running(int(path.read_text())) for path in paths)
