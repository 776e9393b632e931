"""What the options of a ladder say of themselves, in whichever command."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from rl_rewriter.cli.app import app


def options(command: str) -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return {parameter.name: parameter for parameter in group.commands[command].params}


@pytest.mark.parametrize("command", ["demo", "train", "benchmark"])
def test_a_limit_has_a_standard_error_to_spare(command: str) -> None:
    told = options(command)["hurt_limit"].help
    assert "with a standard error to spare, so that 0 never lets anything through" in told


@pytest.mark.parametrize(
    ("command", "has_actions"), [("demo", False), ("train", True), ("benchmark", True)]
)
def test_patterns_of_actions_are_spoken_of_as_what_some_commands_have(
    command: str, has_actions: bool
) -> None:
    found = options(command)
    assert ("actions" in found) is has_actions
    assert "Where there is an --actions, " in found["blend"].help
