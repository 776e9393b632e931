"""``rl-rewriter train --half-life-days``: old records count for less, and the report says so."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.cli.conftest import QUICK, TFIDF, Cli


def test_training_with_a_half_life_tells_what_is_left(cli: Cli, data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    simulated = ("simulate-logs", data, "--policy", "uniform", "-n", 300, "--out", log)
    assert cli(*simulated, *TFIDF).code == 0
    training = ("train", data, "--logs", log, "--out", tmp_path / "policy", *TFIDF, *QUICK)
    whole = cli(*training, "--json").record
    assert whole["effective_records"] is None
    forgetful = cli(*training, "--half-life-days", 0.0005)
    assert forgetful.code == 0
    told = re.search(r"(\d+) logged decisions with the weight of (\d+)", forgetful.out)
    assert told, forgetful.out
    assert int(told[1]) <= whole["records"]  # less what only forgotten records took
    assert 10 < int(told[2]) < 0.8 * int(told[1])


def test_a_half_life_without_a_log_or_of_no_length_is_one_clear_line(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    online = cli("train", data, "--out", tmp_path / "p", "--half-life-days", 3, *TFIDF)
    assert "--half-life-days is for learning from --logs" in online.complaint
