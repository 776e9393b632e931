"""The command line as a shell sees it: standard output, standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from rl_rewriter.cli.app import app
from tests.beir import shop
from tests.commands import exit_code

ROOT = Path(__file__).parents[3]
TFIDF = ("--embedder", "tfidf")
QUICK = ("--updates", "20")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one JSON object that is the whole of standard output."""
        found: dict[str, Any] = json.loads(self.out)
        assert self.out.count("\n") == 1
        return found

    @property
    def complaint(self) -> str:
        """The one line of standard error that an error ends with."""
        assert self.code == 1, self
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        return self.err.removeprefix("error: ").rstrip("\n")


Cli = Callable[..., Ended]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command and captures what it writes, by whatever way."""

    def run(*arguments: object) -> Ended:
        capfd.readouterr()
        code = exit_code(*arguments)
        return Ended(code, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop(tmp_path_factory.mktemp("data") / "shop")


@pytest.fixture(scope="module")
def policy(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy trained on the shop by the command itself."""
    folder = tmp_path_factory.mktemp("trained") / "policy"
    assert exit_code("train", data, "--out", folder, *TFIDF, *QUICK) == 0
    return folder


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all commands, those of groups included."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


COMMANDS = sorted(commands(typer.main.get_command(app)))


def shell(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
