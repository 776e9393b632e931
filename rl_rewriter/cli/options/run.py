"""How any command runs and prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class RunOptions:
    """How any command runs and prints."""

    seed: Annotated[int, typer.Option(help="Seed of everything drawn.")] = 0
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False
