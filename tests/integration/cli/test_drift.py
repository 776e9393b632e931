"""``rl-rewriter drift``: a verdict first, exit 3 where one should act."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rl_rewriter.logs.convert import write_records
from tests.integration.cli.conftest import TFIDF, Cli
from tests.unit.monitoring.parts import START, World


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drift") / "stable.jsonl"
    write_records(World(n=2000).records(), path)
    return path


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drift") / "changed.jsonl"
    write_records(World(n=2000, change=1200, keep=0.1, fall=0.5).records(), path)
    return path


def test_a_stable_log_ends_with_0(cli: Cli, stable: Path) -> None:
    found = cli("drift", stable)
    assert found.code == 0
    assert found.out.startswith("stable: no shift in 22 columns")
    assert "rewards: no change" in found.out


def test_drift_ends_with_3_and_says_what_changed(cli: Cli, changed: Path) -> None:
    found = cli("drift", changed)
    assert found.code == 3
    assert found.out.startswith("act: the mean reward fell from 0.")
    assert re.search(r"^action: .*keep [56]\d\.\d% -> ", found.out, re.MULTILINE)
    record = cli("drift", changed, "--json").record
    assert record["verdict"] == "act"
    assert record["alarms"] == ["action"]
    assert record["reward"]["is_certain"]
    assert record["problems"] == []


def test_spans_are_named_by_times(cli: Cli, changed: Path) -> None:
    middle = int(START + 2 * 1200)
    assert cli("drift", changed, "--since", middle).code == 3
    before = ("--reference-until", int(START + 1600), "--since", int(START + 1600))
    record = cli("drift", changed, *before, "--until", middle, "--json").record
    assert record["verdict"] == "stable"
    assert (record["reference"]["n"], record["recent"]["n"]) == (800, 400)


def test_a_saved_policy_knows_what_its_states_were_like(
    cli: Cli, data: Path, policy: Path, stable: Path, tmp_path: Path
) -> None:
    other = cli("drift", stable, "--policy", policy, "--json").record
    assert any("no recent decision has a state" in note for note in other["notes"])
    log = tmp_path / "own.jsonl"
    simulated = ("simulate-logs", data, "--policy", "uniform", "-n", 300, "--out", log)
    assert cli(*simulated, *TFIDF).code == 0
    own = cli("drift", log, "--policy", policy, "--json").record
    assert own["reference"]["what"] == "the policy's training statistics"
    assert own["shifts"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--since", "yesterday"), "--since must be a date"),
        (("--reference-since", "2026-01-01"), "has no end"),
        (("--level", 2), "level must lie in (0, 1)"),
        (("--policy", "nowhere", "--reference-until", "2026-01-01"), "not with both"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(
    cli: Cli, stable: Path, options: tuple[object, ...], complaint: str
) -> None:
    assert complaint in cli("drift", stable, *options).complaint


def test_a_missing_log_is_one_clear_line(cli: Cli, tmp_path: Path) -> None:
    assert "there is no decision log at" in cli("drift", tmp_path / "none.jsonl").complaint
