"""Writers killed in the middle of their work: what they were told is written, is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.rotation import rotated_files
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.types import Feedback

N_WRITERS = 4
WRITER = """
import json, os, sys
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Feedback, Query

path, writer, size, settings = sys.argv[1:]
log = DecisionLog(path, config=LogConfig(**json.loads(settings)))
number = 0
while True:
    name = f"{writer}-{number}"
    if number % 2:
        log.append_feedback(Feedback(name, 1.0, "thumb", 0.0))
    else:
        query = Query("refund " * int(size))
        log.append_decision(kept(query, "untrained", decision_id=name), [])
    os.write(1, f"{name}\\n".encode())  # one write: acknowledged as a whole or not at all
    number += 1
"""


def killed(path: Path, *, size: int, settings: str, n_acknowledged: int) -> list[str]:
    """What four writers were told is written, each until it is killed at its own moment."""
    acknowledged: list[str] = []

    def write_until_killed(number: int) -> None:
        command = [sys.executable, "-c", WRITER, str(path), str(number), str(size), settings]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for row, line in enumerate(writer.stdout):
                acknowledged.append(line.rstrip("\n"))
                if row == n_acknowledged + 7 * number:
                    os.kill(writer.pid, signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL

    threads = [threading.Thread(target=write_until_killed, args=(n,)) for n in range(N_WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    return acknowledged


@pytest.mark.parametrize(
    ("size", "n_acknowledged", "settings"),
    [
        pytest.param(5, 300, "{}", id="small records"),
        pytest.param(100_000, 3, "{}", id="long records"),
        pytest.param(5, 300, '{"max_bytes": 5000, "compress": true}', id="rotated and compressed"),
        pytest.param(5, 100, '{"fsync": "always"}', id="synced"),
    ],
)
def test_every_acknowledged_record_survives_kill_9(
    tmp_path: Path, size: int, n_acknowledged: int, settings: str
) -> None:
    path = tmp_path / "log.jsonl"
    acknowledged = killed(path, size=size, settings=settings, n_acknowledged=n_acknowledged)
    assert len(acknowledged) >= N_WRITERS * n_acknowledged
    DecisionLog(path).append_feedback(Feedback("the next", 1.0, "thumb", 0.0))
    report = ReadReport()
    found = Counter(
        str(r.get("id", r.get("decision_id"))) for r in read_records(path, report=report)
    )
    assert set(acknowledged) <= set(found)
    assert max(found.values()) == 1
    assert found["the next"] == 1
    # Beside those there is at most the one that each writer wasn't told about any more.
    unacknowledged = len(found) - 1 - len(set(acknowledged))
    assert unacknowledged + report.skipped.total() <= N_WRITERS
    assert set(report.skipped) <= {"not_json", "torn"}
    assert bool(rotated_files(path)) == ("max_bytes" in settings)
