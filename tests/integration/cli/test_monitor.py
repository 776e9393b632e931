"""``rl-rewriter monitor``: one frame without a terminal, frame after frame in one."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.encoding import to_line
from rl_rewriter.logs.rotation import rotate
from tests.integration.cli.conftest import ROOT, Cli
from tests.unit.monitoring.parts import START, World, decision

MAIN = "from rl_rewriter.cli import main; main()"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("monitor") / "decisions.jsonl"
    write_records(World(n=1500, change=1000, fallbacks=0.4, fall=0.5).records(), path)
    return path


def test_one_frame_without_a_terminal(cli: Cli, log: Path) -> None:
    found = cli("monitor", log)
    assert found.code == 0
    for part in ("1,500 decisions, 0.5 requests/s", "fallback:timeout", "p99", "drift: act", "v1"):
        assert part in found.out
    assert "\x1b" not in found.out


def test_the_frame_as_json(cli: Cli, log: Path) -> None:
    record = cli("monitor", log, "--json").record
    assert record["decisions"] == 1500
    assert record["fallbacks"] == record["reasons"]["fallback:timeout"]
    assert record["drift"]["verdict"] == "act"
    later = cli("monitor", log, "--json", "--since", int(START + 2000)).record
    assert later["decisions"] == 500


def test_a_missing_log_is_one_clear_line(cli: Cli, tmp_path: Path) -> None:
    complaint = cli("monitor", tmp_path / "none.jsonl").complaint
    assert "there is no decision log at" in complaint
    assert "--wait" in complaint


def test_rubbish_is_shown_as_text(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "[red]log.jsonl"
    path.write_bytes(
        b"rubbish\n" + to_line(decision("[bold]d", action="[/x]", reason="fallback:[i]"))
    )
    found = cli("monitor", path)
    assert found.code == 0
    for part in ("[red]log.jsonl", "[/x]", "fallback:[i] (decision [bold]d", "not_json 1"):
        assert part in found.out


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, *arguments: object) -> None:
        self._main, other = pty.openpty()
        environment = {**os.environ, "COLUMNS": "120", "LINES": "50", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=ROOT,
            env=environment,
        )
        os.close(other)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until it is shown."""
        end = time.monotonic() + 60.0
        while text not in self.shown and time.monotonic() < end:
            if select.select([self._main], [], [], 0.5)[0]:
                self.shown += os.read(self._main, 1 << 16).decode("utf-8", "replace")
        assert text in self.shown

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        end = time.monotonic() + 60.0
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self._main], [], [], 0.1)[0]:
                try:
                    os.read(self._main, 1 << 16)
                except OSError:
                    break
        code = self.process.wait(timeout=60)
        os.close(self._main)
        return code


def test_it_follows_a_log_that_begins_grows_and_is_rotated_until_it_is_interrupted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "decisions.jsonl"
    terminal = Terminal("monitor", path, "--wait", "--every", 0.1)
    path.write_bytes(to_line(decision("d0", 0)))
    terminal.wait_for("1 decisions")
    with path.open("ab") as file:
        file.write(to_line(decision("d1", 1)))
    terminal.wait_for("2 decisions")
    rotate(path, time.time())
    path.write_bytes(to_line(decision("d2", 2, reason="fallback:timeout")))
    terminal.wait_for("3 decisions")
    terminal.wait_for("last fallbacks")
    assert terminal.interrupt() == 0
