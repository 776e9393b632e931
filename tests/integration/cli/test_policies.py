"""``policies``: a registry from the command line, as a shell sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.policies.checkpoint import save_checkpoint
from rl_rewriter.rollout.deployment import RegistryDeployment
from rl_rewriter.rollout.registry import PolicyRegistry
from tests.forms import INTERVAL, NUMBER_OR_NULL, assert_has_form
from tests.integration.cli.conftest import Cli
from tests.integration.cli.test_off_policy import GATE as GATE_COMMAND
from tests.integration.cli.test_off_policy import records
from tests.logged import write_lines
from tests.unit.evaluation.off_policy.logs import policy_that_likes, uniform_log
from tests.unit.rollout.parts import served

ROLLOUT = {
    "version": (str, type(None)),
    "share": float,
    "shadow": bool,
    "id": str,
    "since": float,
    "on_trial": bool,
}
LIST = {
    "schema": int,
    "registry": str,
    "revision": int,
    "current": ROLLOUT,
    "baseline": str,
    "kill_switch": str,
    "policies": list,
}
PROMOTE = {
    "schema": int,
    "version": str,
    "promoted": bool,
    "current": ROLLOUT,
    "baseline": str,
    "gate": (dict, type(None)),
}
WATCH = {
    "schema": int,
    "rolled_back": bool,
    "candidate": (str, type(None)),
    "baseline": str,
    "stage": str,
    "ruling": str,
    "reason": str,
    "sessions": {"candidate": int, "baseline": int},
    "rewards": {"candidate": NUMBER_OR_NULL, "baseline": NUMBER_OR_NULL},
    "gain": NUMBER_OR_NULL,
    "interval": (list, type(None)),
    "open_sessions": int,
    "warnings": list,
}
GATE: Any = {key: form for key, form in GATE_COMMAND.items() if key not in ("n", "n_usable")}


@pytest.fixture
def reg(cli: Cli, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A registry of policies that are worth .7, .5 and .3 where the log earned .5."""
    versions = {}
    for name, liked in {"good": (1, 0), "same": (2, 0), "bad": (0, 1)}.items():
        save_checkpoint(policy_that_likes(*liked), tmp_path / name)
        found = cli("policies", "add", tmp_path / "reg", tmp_path / name, "--note", name, "--json")
        assert (found.code, found.err) == (0, "")
        assert_has_form(found.record, {"schema": int, "registry": str, "version": str})
        versions[name] = found.record["version"]
    return tmp_path / "reg", versions


def test_a_policy_goes_through_its_life(cli: Cli, reg: tuple[Path, dict[str, str]]) -> None:
    folder, versions = reg
    same, good = versions["same"], versions["good"]
    promoted = cli("policies", "promote", folder, same, "--json")
    assert promoted.code == 0
    assert_has_form(promoted.record, PROMOTE)
    canary = cli("policies", "promote", folder, good[:8], "--share", "0.1", "--json").record
    assert (canary["version"], canary["current"]["share"], canary["baseline"]) == (good, 0.1, same)
    listed = cli("policies", "list", folder, "--json").record
    assert_has_form(listed, LIST)
    assert [policy["role"] for policy in listed["policies"]] == ["current", "baseline", ""]
    assert [policy["note"] for policy in listed["policies"]] == ["good", "same", "bad"]
    back = cli("policies", "roll-back", folder, "--reason", "a hunch", "--json").record
    assert (back["current"]["version"], back["baseline"]) == (same, "keep")
    events = cli("policies", "history", folder, "--json").record["events"]
    assert [e["event"] for e in events] == ["add"] * 3 + ["promote"] * 2 + ["roll_back"]
    assert events[-1]["reason"] == "a hunch"
    removed = cli("policies", "remove", folder, good, "--json").record
    assert removed["removed"] == good
    assert cli("policies", "verify", folder, "--json").record["problems"] == []


def test_in_words(cli: Cli, reg: tuple[Path, dict[str, str]]) -> None:
    folder, versions = reg
    good = versions["good"]
    assert "no policy is promoted: every query is kept" in cli("policies", "list", folder).out
    told = cli("policies", "promote", folder, good, "--share", "0.25").out
    assert told == f"{good} is served to 0.25 of sessions; the others get keep\n"
    told = cli("policies", "promote", folder, good, "--shadow").out
    assert told == f"{good} decides in the shadow for all sessions, which get keep\n"
    told = cli("policies", "promote", folder, good).out
    assert told == f"{good} is served to all sessions; a roll-back leads to keep\n"
    lines = cli("policies", "history", folder).out.splitlines()
    assert len(lines) == 6
    assert "promote" in lines[3]
    assert "share 0.25" in lines[3]
    assert cli("policies", "verify", folder).out.startswith("every policy loads")


def test_the_kill_switch(
    cli: Cli, reg: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RL_REWRITER_OFF", raising=False)
    folder, versions = reg
    cli("policies", "promote", folder, versions["good"])
    assert cli("policies", "off", folder, "--json").record["kill_switch"] is True
    assert RegistryDeployment(folder).choose("s").reason == "kill_switch"
    assert cli("policies", "list", folder).out.startswith(f"off: {folder / 'KILL'} exists")
    assert cli("policies", "on", folder, "--json").record["kill_switch"] is False
    assert RegistryDeployment(folder).choose("s").checkpoint is not None


@pytest.mark.parametrize(("name", "code"), [("good", 0), ("bad", 3)])
def test_the_gate_decides_over_a_promotion(
    cli: Cli, reg: tuple[Path, dict[str, str]], tmp_path: Path, name: str, code: int
) -> None:
    folder, versions = reg
    cli("policies", "promote", folder, versions["same"])
    log = write_lines(tmp_path / "log.jsonl", records(uniform_log(1500)))
    words = ("policies", "promote", folder, versions[name], "--share", "0.1", "--gate", log)
    found = cli(*words, "--json")
    assert (found.code, found.err) == (code, "")
    assert_has_form(found.record, PROMOTE)
    assert_has_form(found.record["gate"], {k: f for k, f in GATE.items() if k != "warnings"})
    assert found.record["gate"]["baseline"] == versions["same"]
    assert found.record["promoted"] is (code == 0)
    served_now = versions[name] if code == 0 else versions["same"]
    assert found.record["current"]["version"] == served_now
    assert cli("policies", "list", folder, "--json").record["current"]["version"] == served_now


def watched(folder: Path, log: Path, version: str, gain: float) -> tuple[object, ...]:
    """A canary of half of all sessions, long ago, and the words that watch it."""
    rollout = PolicyRegistry(folder).promote(version, share=0.5)
    rewards = np.random.default_rng(0).normal(0.5, 0.1, size=600).tolist()
    write_lines(log, served(rollout, rewards, gain=gain))
    return ("policies", "watch", folder, "--logs", log, "--once")


def test_watch_rolls_back_with_exit_code_3(
    cli: Cli, reg: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, versions = reg
    words = watched(folder, tmp_path / "log.jsonl", versions["bad"], -0.1)
    found = cli(*words, "--json")
    assert (found.code, found.record["rolled_back"]) == (3, True)
    assert_has_form(found.record, WATCH)
    assert_has_form(found.record["interval"], INTERVAL)
    assert PolicyRegistry(folder).current().version is None
    again = cli(*words, "--json")
    assert (again.code, again.record["rolled_back"]) == (0, False)
    assert_has_form(again.record, WATCH)


def test_watch_lets_an_equal_policy_be(
    cli: Cli, reg: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, versions = reg
    words = watched(folder, tmp_path / "log.jsonl", versions["same"], 0.0)
    found = cli(*words)
    assert found.code == 0
    assert found.out.startswith("nothing speaks for a roll-back: the gain is at most +0.0")
    assert cli(*words, "--horizon", "200", "--max-loss", "0.0001").code == 3


def test_watch_goes_on_until_it_rolls_back(
    cli: Cli, reg: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, versions = reg
    *words, _ = watched(folder, tmp_path / "log.jsonl", versions["bad"], -0.1)
    found = cli(*words, "--every", "0.01")
    assert found.code == 3
    assert found.out.startswith(f"rolled back {versions['bad']}: keep is served to all now")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("list nowhere", "there is no policy registry at "),
        ("add REG nowhere", "nowhere/manifest.json does not exist"),
        ("promote REG zzzz", "no policy of the registry begins with 'zzzz'"),
        ("promote REG ../..", "no policy of the registry begins with '../..'"),
        ("promote REG GOOD --share 2", "share must lie above 0 and be at most 1, got 2.0"),
        ("promote REG GOOD --gate nowhere", "there is no decision log at nowhere"),
        ("roll-back REG", "there is nothing to roll back: no policy is promoted"),
        ("remove REG zzzz", "no policy of the registry begins with 'zzzz'"),
        ("off nowhere", "there is no policy registry at "),
        ("on nowhere", "there is no policy registry at "),
        ("watch REG --logs nowhere --once --alpha 2", "alpha must lie between 0 and 0.5, got 2"),
        ("watch REG --logs nowhere --every 0", "every must be a number of seconds above 0"),
    ],
)
def test_an_error_is_one_line(
    cli: Cli,
    reg: tuple[Path, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    expected: str,
) -> None:
    folder, versions = reg
    monkeypatch.chdir(folder.parent)
    words = arguments.replace("REG", str(folder)).replace("GOOD", versions["good"])
    assert cli("policies", *words.split()).complaint.startswith(expected)
    assert not (folder.parent / "nowhere").exists()


def test_a_damaged_registry_is_named_and_can_be_switched_off(
    cli: Cli, reg: tuple[Path, dict[str, str]]
) -> None:
    folder, versions = reg
    (folder / "policies" / versions["bad"] / "policy.safetensors").write_bytes(b"")
    found = cli("policies", "verify", folder)
    assert found.code == 3
    assert found.out.startswith(versions["bad"])
    (folder / "state.json").write_bytes(b"{")
    assert cli("policies", "list", folder).complaint.startswith(f"{folder / 'state.json'} is dam")
    assert cli("policies", "off", folder).code == 0
    assert (folder / "KILL").exists()
