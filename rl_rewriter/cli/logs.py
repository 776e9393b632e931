"""``rl-rewriter logs``: what stands in a decision log, and its other forms."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session
from rl_rewriter.cli.times import window_of

if TYPE_CHECKING:
    from rl_rewriter.logs.report import ReadReport
    from rl_rewriter.logs.summary import LogSummary

logs_app = typer.Typer(
    name="logs",
    help="Decision logs: look into them, convert them, make them of other tools' exports.",
    no_args_is_help=True,
)

LogFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A decision log: JSON lines (gzipped or not, rotated or not), Parquet."
    ),
]
Strict = Annotated[bool, typer.Option(help="Stop at the first line that is no record.")]
_MOST = 12


@logs_app.command(epilog="Example: rl-rewriter logs inspect decisions.jsonl")
@with_options(run=RunOptions)
def inspect(file: LogFile, strict: Strict = False, *, run: RunOptions) -> None:
    """Say what a log holds: actions, propensities, missing feedback, problems."""
    with session(run) as current:
        from rl_rewriter.logs.summary import summarise

        found = summarise(file, strict=strict, on_progress=current.progress)
        current.finish(found.to_json(), lambda console: show_summary(console, file, found))


@logs_app.command(epilog="Example: rl-rewriter logs convert decisions.jsonl --out log.parquet")
@with_options(run=RunOptions)
def convert(
    file: LogFile,
    out: Annotated[
        Path, typer.Option(help="File to write; .parquet, .gz or any other name for JSON lines.")
    ],
    strict: Strict = False,
    since: Annotated[
        str | None, typer.Option(help="Decisions from this date, time or epoch second on; UTC.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Decisions before this date, time or epoch second; UTC.")
    ] = None,
    *,
    run: RunOptions,
) -> None:
    """Write a log with its rotated files, or a part of its time, as one file.

    Feedback goes with its decision whatever its own time, so that a log can be divided into one to
    learn from (--until DATE) and one to judge by (--since DATE).
    """
    with session(run) as current:
        from rl_rewriter.logs.convert import convert as convert_log

        report = convert_log(
            file,
            out,
            strict=strict,
            window=window_of(since=since, until=until),
            on_progress=current.progress,
        )
        record = {
            "schema": 1,
            "out": str(out),
            "records": report.records,
            "skipped": dict(report.skipped),
            "problems": report.problems,
        }
        current.finish(record, lambda console: _show_converted(console, out, report))


def show_summary(console: Console, file: Path, found: LogSummary) -> None:
    """A log as people read it; the verdict first."""
    console.print(f"[bold]{verdict(found)}[/bold]")
    console.print(
        f"{escape(str(file))}: {found.records:,} records, {found.decisions:,} decisions, "
        f"{found.feedback:,} feedback{_between(found)}"
    )
    if found.decisions:
        console.print(
            f"without feedback: {found.without_feedback:,} decisions "
            f"({found.without_feedback / found.decisions:.0%}); "
            f"about no decision of this log: {found.unknown_decision:,} feedback"
        )
    if found.propensity:
        low, median, high = found.propensity
        console.print(
            f"propensity: known for {found.with_propensity:,}, from {low:.2g} to {high:.2g}, "
            f"median {median:.2g}"
        )
    for title, counts in (
        ("actions", found.actions),
        ("reasons", found.reasons),
        ("policy versions", found.policies),
        ("kinds of feedback", found.kinds),
        ("of no use for learning", found.not_usable),
        ("skipped", found.skipped),
    ):
        if counts:
            console.print(f"{title}:")
            console.print(_counts_table(counts))
    for problem in found.problems:
        console.print(f"[yellow]problem:[/yellow] {escape(problem)}")


def verdict(found: LogSummary) -> str:
    """What can be done with a log, in one sentence."""
    if not found.decisions:
        return "there is no decision to learn from"
    if found.without_feedback == found.decisions:
        return "nothing can be learned yet: no feedback has come"
    if not found.usable:
        return "nothing can be learned from these decisions: none of them was drawn by chance"
    if not found.with_propensity and not found.with_state:
        return "there are neither propensities nor states: a log to look into, not to learn from"
    if not found.with_propensity:
        return "propensities are unknown: rewards can be predicted, decisions can't be weighted"
    return f"{found.usable:,} of {found.decisions:,} decisions can be learned from"


def _between(found: LogSummary) -> str:
    if found.times is None:
        return ""
    try:
        first, last = (datetime.fromtimestamp(t, timezone.utc) for t in found.times)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return ""
    return f", {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _counts_table(counts: Mapping[str, int]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, count in list(counts.items())[:_MOST]:
        table.add_row(escape(name or "(none)"), f"{count:,}")
    if len(counts) > _MOST:
        rest = sum(list(counts.values())[_MOST:])
        table.add_row(f"{len(counts) - _MOST} others", f"{rest:,}")
    return table


def _show_converted(console: Console, out: Path, report: ReadReport) -> None:
    console.print(f"{report.records:,} records written to {escape(str(out))}")
    if report.skipped:
        console.print(_counts_table(report.skipped))
