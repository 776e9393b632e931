"""The ``report`` command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import exit_code
from tests.run_folders import Made, write_run_folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run_folder(tmp_path / "run", [Made(n=30), Made(n=30, retriever="bm25")])


def test_the_command_prints_what_it_wrote(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code("report", run, "--json") == 0
    printed = capfd.readouterr()
    page = run / "report.html"
    assert json.loads(printed.out) == {
        "schema": 1,
        "report": str(page),
        "collections": 2,
        "bytes": page.stat().st_size,
    }
    assert printed.err == ""


def test_the_file_can_be_chosen(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "[bold]page.html"
    assert exit_code("report", run, "--out", out) == 0
    assert capfd.readouterr().out == f"written: {out}\n"
    assert out.exists()


def test_a_folder_without_a_run_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("report", tmp_path) == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: there is no results.json in {tmp_path}; give the folder")
    assert printed.err.count("\n") == 1
