"""``rl-rewriter logs import``: other tools' exports as decision logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from rl_rewriter.cli.logs import logs_app
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session

if TYPE_CHECKING:
    from rl_rewriter.logs.importers.report import ImportReport

__all__ = ["logs_app"]

_EXAMPLE = "Example: rl-rewriter logs import --from langsmith runs.jsonl --out log.jsonl"


@logs_app.command("import", epilog=_EXAMPLE)
@with_options(run=RunOptions)
def import_export(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Exports, or folders of them: JSON lines, a JSON array, Parquet or CSV; gzipped "
            "or not.",
        ),
    ],
    tool: Annotated[
        str,
        typer.Option("--from", help="langsmith, langfuse, phoenix, otel or llama-index."),
    ],
    out: Annotated[Path, typer.Option(help="The decision log to write; .gz or .parquet as well.")],
    feedback: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of feedback that the export doesn't hold; repeat it for several."
        ),
    ] = None,
    log_queries: Annotated[
        str, typer.Option(help='What is kept of queries: "text", "hash" or "none".')
    ] = "text",
    strict: Annotated[bool, typer.Option(help="Stop at the first row that can't be read.")] = False,
    replace: Annotated[bool, typer.Option(help="Write over a log that exists.")] = False,
    *,
    run: RunOptions,
) -> None:
    """Make a decision log of what LangSmith, Langfuse, Phoenix, OTel or LlamaIndex recorded."""
    with session(run) as current:
        from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs

        config = ImportConfig(
            tool=tool,
            log_queries=log_queries,  # type: ignore[arg-type]  # checked by ImportConfig
            strict=strict,
            replace=replace,
        )
        report = import_logs(
            files, out, config, feedback=feedback or (), on_progress=current.progress
        )
        current.finish(report.to_json(), lambda console: _show(console, out, report))


def _show(console: Console, out: Path, report: ImportReport) -> None:
    console.print(
        f"[bold]{report.decisions:,} decisions and {report.feedback:,} feedback written to "
        f"{escape(str(out))}[/bold]"
    )
    console.print(
        f"of {report.read:,} rows from {report.tool}; none has a propensity: nobody drew what the "
        "chain did"
    )
    for title, counts in (
        ("actions", report.actions),
        ("became no record", report.skipped),
        ("to be known", report.notes),
    ):
        if counts:
            console.print(f"{title}: {_in_words(counts)}")
    for problem in report.problems:
        console.print(f"[yellow]problem:[/yellow] {escape(problem)}")


def _in_words(counts: Mapping[str, int]) -> str:
    return escape("; ".join(f"{name} {count:,}" for name, count in counts.items()))
