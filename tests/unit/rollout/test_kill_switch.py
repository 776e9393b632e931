"""When the kill switch is engaged."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rl_rewriter.rollout.kill_switch import VARIABLE, KillSwitch
from tests.unit.rollout.parts import Clock


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_file_switches_off_within_the_time_between_two_looks(tmp_path: Path) -> None:
    clock = Clock()
    switch = KillSwitch(tmp_path / "KILL", clock=clock)
    assert not switch.engaged()
    (tmp_path / "KILL").touch()
    clock.now += 0.4
    assert not switch.engaged()
    clock.now += 0.1
    assert switch.engaged()
    (tmp_path / "KILL").unlink()
    clock.now += 0.5
    assert not switch.engaged()


@pytest.mark.parametrize(
    ("value", "engaged"),
    [("1", True), ("true", True), ("yes", True), ("2", True), ("offf", True)]
    + [(value, False) for value in ("", "0", "false", "FALSE", "no", "off", " 0 ")],
)
def test_a_variable_switches_off_at_once_and_in_doubt(
    monkeypatch: pytest.MonkeyPatch, value: str, engaged: bool
) -> None:
    switch = KillSwitch()
    assert not switch.engaged()
    monkeypatch.setenv(VARIABLE, value)
    assert switch.engaged() is engaged


def test_what_cannot_be_looked_at_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (
        tmp_path / "file" / "KILL",  # its folder is a file
        tmp_path / "gone" / "KILL",  # its folder isn't there
        tmp_path / "loop" / "KILL",
        tmp_path / ("x" * 300),
        Path("a\0b"),
    ):
        assert KillSwitch(path).engaged(), path
    (tmp_path / "KILL").symlink_to(tmp_path / "nowhere")
    assert KillSwitch(tmp_path / "KILL").engaged()


def test_engaging_is_warned_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    switch = KillSwitch(tmp_path / "KILL", clock=clock)
    (tmp_path / "KILL").touch()
    for _ in range(5):
        clock.now += 1.0
        assert switch.engaged()
    assert [record.getMessage() for record in caplog.records] == [
        f"kill switch engaged: {tmp_path / 'KILL'} exists"
    ]


def test_a_copy_looks_for_itself(tmp_path: Path) -> None:
    switch = KillSwitch(tmp_path / "KILL")
    assert not switch.engaged()
    (tmp_path / "KILL").touch()
    assert pickle.loads(pickle.dumps(switch)).engaged()
