"""What a command reads: judged data, or a saved policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        help="A folder in BEIR or TREC layout, a CSV, TSV, JSON or JSON-lines file of questions "
        "with their documents, a LangSmith or LlamaIndex dataset (docs/collections.md), "
        '"demo", "demo-zh", "fixture" or "simulator[:SEED]".'
    ),
]
Policy = Annotated[Path, typer.Option(help="Folder of a saved policy.")]
