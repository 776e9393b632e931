"""What is written behind the work: in order, bounded, and all of it before the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.serving.write_behind import WriteBehind, flush_all
from tests.faults import Stall


@pytest.fixture
def stall() -> Iterator[Stall]:
    held = Stall()
    yield held
    held.let_go()


def test_what_is_sent_is_written_in_order_by_another_thread() -> None:
    errors: list[Exception] = []
    written: list[tuple[int, threading.Thread]] = []
    writer = WriteBehind(1_000, errors.append)
    for number in range(500):
        assert writer.send(lambda n=number: written.append((n, threading.current_thread())))  # type: ignore[misc]  # mypy sees no default
    assert writer.flush(10.0)
    assert [number for number, _ in written] == list(range(500))
    assert {thread for _, thread in written}.isdisjoint({threading.current_thread()})
    assert (writer.waiting, errors) == (0, [])


def test_an_error_is_told_and_stops_nothing() -> None:
    errors: list[Exception] = []
    written: list[str] = []
    writer = WriteBehind(10, errors.append)

    def fail() -> None:
        raise OSError("the disk is full")

    def leave() -> None:
        raise SystemExit(3)

    for write in (fail, leave, lambda: written.append("a")):
        assert writer.send(write)
    assert writer.flush(10.0)
    assert [str(error) for error in errors] == ["the disk is full"]
    assert written == ["a"]


@given(limit=st.integers(1, 5), sent=st.integers(0, 8))
def test_no_more_waits_than_the_limit(limit: int, sent: int) -> None:
    stall, written = Stall(), list[int]()
    writer = WriteBehind(limit, lambda error: None)

    def write(number: int) -> None:
        stall()
        written.append(number)

    taken = [writer.send(lambda n=number: write(n)) for number in range(sent)]  # type: ignore[misc]  # mypy sees no default
    assert taken == [number < limit for number in range(sent)]
    assert writer.waiting == min(limit, sent)
    stall.let_go()
    assert writer.flush(10.0)
    assert written == list(range(min(limit, sent)))
    assert writer.send(lambda: written.append(-1))
    assert writer.flush(10.0)
    assert written[-1] == -1


def test_flushing_waits_no_longer_than_it_is_told(stall: Stall) -> None:
    writer = WriteBehind(10, lambda error: None)
    assert writer.flush(0.0)
    writer.send(stall)
    assert not writer.flush(0.01)
    assert not flush_all(0.01)
    stall.let_go()
    assert flush_all(10.0)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1 record must be allowed to wait, got 0"):
        WriteBehind(0, lambda error: None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_writes_its_own_and_nothing_of_its_parent(
    stall: Stall, tmp_path: Path
) -> None:
    writer = WriteBehind(2, lambda error: None)
    writer.send(stall)
    writer.send((tmp_path / "parent").touch)
    assert stall.reached.wait(10)
    with writer._changed:  # as a thread of the parent may hold it
        child = os.fork()
        if child == 0:
            is_done = writer.send((tmp_path / "child").touch) and writer.flush(10.0)
            os._exit(0 if is_done else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert [file.name for file in tmp_path.iterdir()] == ["child"]
    stall.let_go()
    assert writer.flush(10.0)
    assert {file.name for file in tmp_path.iterdir()} == {"child", "parent"}


SCRIPT = """
import multiprocessing, os, sys, time
from pathlib import Path
from rl_rewriter.serving.write_behind import WriteBehind

def work(folder):
    writer = WriteBehind(10, print)
    writer.send(lambda: time.sleep(0.3))
    writer.send((Path(folder) / "written").touch)

if __name__ == "__main__":
    way, folder = sys.argv[1:]
    if way == "alone":
        work(folder)
    elif way == "os.fork":
        child = os.fork()
        if child == 0:
            work(folder)
            sys.exit(0)
        os.waitpid(child, 0)
    else:
        process = multiprocessing.get_context(way).Process(target=work, args=(folder,))
        process.start()
        process.join()
"""


@pytest.mark.parametrize("way", ["alone", "os.fork", "fork", "spawn", "forkserver"])
def test_every_process_writes_what_waits_before_it_ends(tmp_path: Path, way: str) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    folder.mkdir()
    subprocess.run([sys.executable, str(script), way, str(folder)], check=True, timeout=60)
    assert (folder / "written").exists()


def test_a_writing_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "from rl_rewriter.serving import write_behind\n"
        "write_behind.flush_all.__defaults__ = (0.1,)\n"
        "writer = write_behind.WriteBehind(10, print)\n"
        "writer.send(lambda: time.sleep(60))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
