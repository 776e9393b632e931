"""The ``rl-rewriter`` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; says what to install where its packages are missing."""
    # Threads that spin while they wait starve each other on few cores; must precede torch.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from rl_rewriter.cli.app import app
    except ImportError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.stderr.write(
            f'error: {error.name} is not installed; run: pip install "rl-rewriter[train]"\n'
        )
        raise SystemExit(1) from None
    app(prog_name="rl-rewriter")
