"""``rl-rewriter monitor``: a log in the terminal, as it grows."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rl_rewriter.cli import show_monitor as show
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session
from rl_rewriter.cli.times import seconds_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.live import Live

    from rl_rewriter.logs.follow import Follower
    from rl_rewriter.logs.report import ReadReport
    from rl_rewriter.monitoring.live import LiveSummary, Snapshot

MONITOR_EXAMPLE = "Example: rl-rewriter monitor decisions.jsonl"
_TOGETHER = 5_000
_DRIFT_SECONDS = 10.0


@with_options(run=RunOptions)
def monitor(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The decision log that is written.")],
    once: Annotated[
        bool, typer.Option("--once", help="Print one frame and end, as without a terminal.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="Count decisions from this date, time or epoch second on.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for a log that isn't there yet.")
    ] = False,
    every: Annotated[float, typer.Option(help="Seconds between two frames.", min=0.05)] = 1.0,
    *,
    run: RunOptions,
) -> None:
    """Watch requests, actions, reasons, latency, rewards and drift; Ctrl-C ends it."""
    with session(run) as current:
        from rl_rewriter.errors import InputError
        from rl_rewriter.logs.follow import Follower
        from rl_rewriter.logs.report import ReadReport
        from rl_rewriter.monitoring.live import LiveSummary

        report = ReadReport(warns=False)
        follower = Follower(log, report)
        summary = LiveSummary(since=-math.inf if since is None else seconds_named("since", since))
        watching = _Watching(str(log), follower, report, summary, every)
        try:
            if wait:
                watching.wait()
            elif not follower.exists():
                raise InputError(f"there is no decision log at {log}; --wait waits for it")
            if run.as_json or once or not Console().is_terminal:
                found = watching.once()
                current.finish(found.to_json(), lambda console: show.frame(console, log, found))
            else:
                current.finish({}, watching.follow)
        except KeyboardInterrupt:
            return
        finally:
            follower.close()


@dataclass
class _Watching:
    """One log being watched."""

    name: str
    follower: Follower
    report: ReadReport
    summary: LiveSummary
    every: float
    looked: float = -math.inf

    def wait(self) -> None:
        """Return when there is a log."""
        while not self.follower.exists():
            time.sleep(min(self.every, 0.5))

    def once(self) -> Snapshot:
        """What stands in the log now."""
        for record in self.follower.new_records():
            self.summary.add(record)
        self.summary.look_for_drift()
        return self.summary.snapshot(self.report.skipped)

    def follow(self, console: Console) -> None:
        """Show frame after frame until somebody interrupts."""
        from rich.live import Live

        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                is_behind = self._read(lambda: self._show(live))
                self._show(live)
                if not is_behind:
                    time.sleep(self.every)

    def _read(self, between: Callable[[], None]) -> bool:
        """Take in what is new, with a frame now and then; whether there was much."""
        records, total = self.follower.new_records(), 0
        while batch := list(islice(records, _TOGETHER)):
            for record in batch:
                self.summary.add(record)
            total += len(batch)
            if len(batch) == _TOGETHER:
                between()
        return total >= _TOGETHER

    def _show(self, live: Live) -> None:
        now = time.monotonic()
        if now - self.looked >= _DRIFT_SECONDS:
            self.summary.look_for_drift()
            self.looked = now
        live.update(show.view(self.name, self.summary.snapshot(self.report.skipped)), refresh=True)
