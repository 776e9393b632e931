"""``rl-rewriter drift``: whether a log's recent decisions and rewards are like those of before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.cli import show_drift as show
from rl_rewriter.cli.logs import LogFile, Strict
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session
from rl_rewriter.cli.times import window_of

if TYPE_CHECKING:
    from rl_rewriter.logs.window import Window
    from rl_rewriter.monitoring.drift import Reference
    from rl_rewriter.monitoring.drift_report import DriftConfig

DRIFT_EXAMPLE = "Example: rl-rewriter drift decisions.jsonl --since 2026-05-01"


@dataclass(frozen=True)
class DriftOptions:
    """What is compared with what, and what counts."""

    since: Annotated[
        str | None,
        typer.Option(
            help="Decisions from this date, time or epoch second on are the recent ones; by "
            "default the last quarter of the log."
        ),
    ] = None
    until: Annotated[
        str | None, typer.Option(help="Leave out decisions from this time on; UTC.")
    ] = None
    reference_since: Annotated[
        str | None, typer.Option(help="Compare with decisions from this time on.")
    ] = None
    reference_until: Annotated[
        str | None,
        typer.Option(
            help="Compare with decisions before this time; by default all before --since, or the "
            "first half of the log."
        ),
    ] = None
    policy: Annotated[
        Path | None,
        typer.Option(help="Compare with the states that this saved policy was trained on."),
    ] = None
    level: Annotated[
        float, typer.Option(help="Chance of a false alarm by all columns together.")
    ] = 0.01
    look: Annotated[
        float, typer.Option(help="Population stability index, less chance, to look at.")
    ] = 0.1
    act: Annotated[float, typer.Option(help="Index at which to act (exit 3).")] = 0.25

    def config(self, seed: int) -> DriftConfig:
        """The library's settings.

        Raises:
            InputError: A setting cannot work.
        """
        from rl_rewriter.monitoring.drift_report import DriftConfig

        return DriftConfig(level=self.level, look=self.look, act=self.act, seed=seed)

    def sides(self) -> tuple[Reference | None, Window | None]:
        """What to compare with, and what is recent; None for the defaults.

        Raises:
            InputError: A time can't be read, or two ways to compare are named.
            CheckpointError: The policy's folder holds no usable policy.
        """
        from rl_rewriter.errors import InputError
        from rl_rewriter.policies.checkpoint import load_checkpoint

        recent = window_of(since=self.since, until=self.until)
        span = window_of(reference_since=self.reference_since, reference_until=self.reference_until)
        if self.policy is None:
            return span, recent
        if span is not None:
            raise InputError("compare with --policy or with a span of time, not with both")
        return load_checkpoint(self.policy), recent


@with_options(options=DriftOptions, run=RunOptions)
def drift(
    log: LogFile,
    strict: Strict = False,
    *,
    options: DriftOptions,
    run: RunOptions,
) -> None:
    """Say whether features, actions, reasons or rewards changed; exit 3 where one should act."""
    with session(run) as current:
        from rl_rewriter.logs.report import ReadReport
        from rl_rewriter.monitoring.drift import drift as find_drift

        reading = ReadReport(strict=strict, warns=False, on_progress=current.progress)
        reference, recent = options.sides()
        found = find_drift(
            log,
            reference=reference,
            recent=recent,
            config=options.config(run.seed),
            reading=reading,
        )
        record = found.to_json() | {
            "skipped": dict(reading.skipped),
            "problems": list(reading.problems),
        }
        current.finish(record, lambda console: show.drift(console, found, reading.problems))
        if found.verdict == "act":
            current.refuse()
