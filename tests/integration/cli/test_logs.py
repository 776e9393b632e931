"""``rl-rewriter logs`` as a shell sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.logs.reader import read_records
from tests.integration.cli.conftest import Cli
from tests.logged import decision, feedback, write_lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    records = [decision("1"), decision("2"), b"nonsense\n", feedback("1", 1, "thumb")]
    return write_lines(tmp_path / "log.jsonl", records)


def test_inspect_prints_the_contracts_object(cli: Cli, log: Path) -> None:
    record = cli("logs", "inspect", log, "--json").record
    assert {key: record[key] for key in list(record)[:8]} == {
        "schema": 1,
        "records": 3,
        "decisions": 2,
        "feedback": 1,
        "with_propensity": 2,
        "skipped": {"not_json": 1},
        "actions": {"keywords": 2},
        "problems": [f"{log} line 3 is no JSON, and was skipped"],
    }


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ([], "there is no decision to learn from"),
        ([decision()], "nothing can be learned yet: no feedback has come"),
        ([decision(reason="untrained"), feedback()], "none of them was drawn by chance"),
        ([decision(propensity=None), feedback()], "propensities are unknown: rewards can be"),
        (
            [decision(propensity=None, probabilities={}, state=None), feedback()],
            "there are neither propensities nor states: a log to look into",
        ),
        ([decision(), feedback()], "1 of 1 decisions can be learned from"),
        ([decision(time=1e18, action="[red]x[/red]", propensity=None), feedback()], "[red]x[/red]"),
    ],
)
def test_inspect_says_what_the_log_is_good_for(
    cli: Cli, tmp_path: Path, records: list[object], verdict: str
) -> None:
    ended = cli("logs", "inspect", write_lines(tmp_path / "log.jsonl", records))  # type: ignore[arg-type]
    assert ended.code == 0
    assert verdict in ended.out


def test_convert_there_and_back(cli: Cli, log: Path, tmp_path: Path) -> None:
    table, back = tmp_path / "log.parquet", tmp_path / "back.jsonl.gz"
    ended = cli("logs", "convert", log, "--out", table, "--json")
    assert ended.record == {
        "schema": 1,
        "out": str(table),
        "records": 3,
        "skipped": {"not_json": 1},
        "problems": [f"{log} line 3 is no JSON, and was skipped"],
    }
    assert "3 records written to" in cli("logs", "convert", table, "--out", back, "--strict").out
    assert list(read_records(back)) == [decision("1"), decision("2"), feedback("1", 1, "thumb")]


def test_convert_divides_a_log_by_time(cli: Cli, tmp_path: Path) -> None:
    noon = 1767268800.0  # 2026-01-01T12:00Z
    records = [decision("1", time=noon - 1), decision("2", time=noon), feedback("1", time=noon + 9)]
    log, out = write_lines(tmp_path / "log.jsonl", records), tmp_path / "part.jsonl"
    for moment in ("2026-01-01T12:00", "2026-01-01 12:00Z", "1767268800"):
        cli("logs", "convert", log, "--out", out, "--until", moment, "--json")
        assert list(read_records(out)) == [records[0], records[2]]
        ended = cli("logs", "convert", log, "--out", out, "--since", moment, "--json")
        assert (list(read_records(out)), ended.record["records"]) == ([records[1]], 1)
    assert cli("logs", "convert", log, "--out", out, "--since", "2026-01-01", "--json").code == 0
    assert len(list(read_records(out))) == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("inspect nowhere.jsonl", "there is no decision log at nowhere.jsonl"),
        ("inspect .", ". is a folder; name the log file itself"),
        ("inspect log.jsonl --strict", "log.jsonl line 3 is no JSON"),
        ("inspect picture", "there is no record of a decision log: picture line 1 is no JSON"),
        ("inspect table", "table can't be read as Parquet"),
        ("convert log.jsonl --out log.jsonl", "log.jsonl is the log itself; give another name"),
        ("convert log.jsonl --out x.parquet --since noon", "--since must be a date, a time or"),
        ("convert log.jsonl --out x.parquet --until nan", "--until must be a date, a time or"),
        ("convert log.jsonl --out x.parquet --since 2 --until 1", "since must be before until"),
        ("convert log.jsonl --out x.parquet --strict", "log.jsonl line 3 is no JSON"),
    ],
)
def test_an_error_is_one_line(
    cli: Cli, log: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, expected: str
) -> None:
    monkeypatch.chdir(log.parent)
    Path("picture").write_bytes(b"\x89PNG\r\n\x00\xff")
    Path("table").write_bytes(b"PAR1 and nothing")
    assert cli("logs", *arguments.split()).complaint.startswith(expected)
    assert not Path("x.parquet").exists()
