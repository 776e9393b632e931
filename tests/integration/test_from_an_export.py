"""The example that starts from an export, and the command that imports one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import exit_code
from tests.unit.logs.importers.parts import run, thumb, write_lines

EXAMPLE = Path(__file__).parents[2] / "examples" / "from_an_export.py"


def test_the_example_counts_what_it_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert EXAMPLE.name == "from_an_export.py"
    assert done.stdout.splitlines()[:3] == [
        "1200 rows: 400 decisions, 400 feedback",
        "left out: {'span that is no retrieval': 400}",
        "keep: 189 questions, 65% satisfied",
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_one_object(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    export = write_lines(tmp_path / "runs.jsonl", [run("r", parent="root"), run("", id=None)])
    feedback = write_lines(tmp_path / "feedback.jsonl", [thumb("root")])
    out = tmp_path / "log.jsonl"
    command = ["logs", "import", "--from", "langsmith", export, "--out", out]

    assert exit_code(*command, "--feedback", feedback, "--json") == 0

    printed = capfd.readouterr().out
    assert printed.count("\n") == 1
    record = json.loads(printed)
    assert record["schema"] == 1
    assert (record["records"], record["decisions"], record["feedback"]) == (2, 1, 1)
    assert (record["with_propensity"], record["actions"]) == (0, {"keep": 1})
    assert record["skipped"] == {"span without an id": 1}
    assert "runs.jsonl line 2" in record["problems"][0]
    assert len(out.read_text().splitlines()) == 2


def test_the_command_says_what_was_left_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [run("root", "chain"), run("r", parent="root"), {"[bold]": 1}]
    export = write_lines(tmp_path / "runs.jsonl", rows)
    command = ["logs", "import", "--from", "langsmith", export, "--out", tmp_path / "log.jsonl"]

    assert exit_code(*command, "--log-queries", "hash") == 0
    printed = capfd.readouterr().out
    assert "1 decisions and 0 feedback written to" in printed
    assert "none has a propensity" in printed
    assert "became no record: span that is no retrieval 1; row of another kind 1" in printed

    assert exit_code(*command) == 1
    assert capfd.readouterr().err.startswith("error: ")
    assert exit_code(*command, "--replace") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "langfuse"), "it looks like an export of langsmith"),
        (("--from", "helicone"), "unknown tool 'helicone'"),
        (("--from", "langsmith", "--log-queries", "no"), "log_queries must be"),
    ],
)
def test_the_command_fails_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    export = write_lines(tmp_path / "runs.jsonl", [run("r")])
    code = exit_code("logs", "import", *arguments, export, "--out", tmp_path / "log.jsonl")
    printed = capfd.readouterr()
    assert code == 1
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err
