"""What every command shares: progress on standard error, one JSON object or text, exit codes."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.errors import RewriterError

REFUSED = 3


class Session:
    """One run of a command.

    Args:
        options: How to print.
    """

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        errors = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),  # files and data have any name
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=errors,
            disable=not errors.is_terminal,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self.exit_code = 0
        self.record = ""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage not in self._tasks or done <= self._bars.tasks[self._tasks[stage]].completed:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total, visible=done < total)

    def finish(self, record: Mapping[str, Any], show: Callable[[Console], None]) -> None:
        """Print the result: the record as JSON when the body has ended, or at once as text."""
        self._bars.stop()
        if self._options.as_json:
            self.record = json.dumps(record) + "\n"
        else:
            show(_printer())

    def refuse(self) -> None:
        """End with the exit code that says no."""
        self.exit_code = REFUSED

    def __enter__(self) -> Session:
        """Start the progress display."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the progress display."""
        self._bars.stop()


@contextmanager
def session(options: RunOptions) -> Iterator[Session]:
    """Run a command's body: errors become one line, and exit codes follow the contract."""
    _quieten_libraries()
    run = Session(options)
    try:
        with _prints_on_standard_error() if options.as_json else nullcontext(), run:
            yield run
        if run.record:
            sys.stdout.write(run.record)
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        raise SystemExit(130) from None
    except Exception as error:
        if options.debug:
            raise
        known = isinstance(error, RewriterError | OSError)
        hint = "" if known else f" ({type(error).__name__}; --debug shows where)"
        sys.stderr.write(f"error: {' '.join(str(error).split())}{hint}\n")
        raise SystemExit(1) from None
    if run.exit_code:
        raise SystemExit(run.exit_code)


@contextmanager
def _prints_on_standard_error() -> Iterator[None]:
    """Keep standard output for the record alone, whatever the user's code or a library prints."""
    printed, kept = sys.stdout, _descriptor(sys.stdout)
    with redirect_stdout(sys.stderr):
        if kept is None:
            yield
            return
        printed.flush()
        os.dup2(2, 1)
        try:
            yield
        finally:
            printed.flush()  # what was printed by another name of it
            os.dup2(kept, 1)
            os.close(kept)


def _descriptor(stream: TextIO) -> int | None:
    """Another descriptor of standard output; None where it or standard error is closed."""
    try:
        os.fstat(2)
        return None if stream is None else os.dup(1)
    except OSError:
        return None


def _printer() -> Console:
    """Standard output; a file or a pipe gets lines of a fixed width."""
    console = Console(soft_wrap=True, highlight=False)
    return console if console.is_terminal else Console(soft_wrap=True, highlight=False, width=110)


def _quieten_libraries() -> None:
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    logging.getLogger("chromadb").setLevel(logging.WARNING)
    if "transformers" not in sys.modules:
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
