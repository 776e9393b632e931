"""Names that look like rich's markup are printed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import Session
from tests.integration.cli.conftest import QUICK, TFIDF, Cli

NAME = "[bold]policy"


def test_the_folder_of_a_policy(cli: Cli, data: Path, tmp_path: Path) -> None:
    told = cli("train", data, *TFIDF, *QUICK, "--no-blend", "--out", tmp_path / NAME).out
    assert f"saved to {tmp_path / NAME}\n" in told


def test_the_log_that_is_read(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels of the progress display hold names of files and collections."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    monkeypatch.setenv("COLUMNS", "200")
    with Session(RunOptions()) as current:
        current.progress(f"reading {NAME} [/x]", 1, 2)
    assert f"reading {NAME} [/x]" in capfd.readouterr().err
