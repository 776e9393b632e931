"""Estimates and verdicts as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rl_rewriter.evaluation.off_policy.report import OffPolicyReport
    from rl_rewriter.evaluation.off_policy.verdict import Verdict
    from rl_rewriter.logs.dataset_report import DatasetReport


def estimates(console: Console, read: DatasetReport, found: OffPolicyReport) -> None:
    """What the estimators say, one a line."""
    console.print(f"{escape(read.in_words)}, {found.n_usable} of them with a propensity")
    console.print(f"what was logged earned {found.logged_value:.4f}")
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("estimator")
    for name in ("policy", "95% interval", "effective records", "largest weight"):
        table.add_column(name, justify="right")
    for name, estimate in found.estimates.items():
        low, high = estimate.ci95
        table.add_row(
            name,
            f"{estimate.value:.4f}",
            f"{low:.4f} to {high:.4f}",
            f"{estimate.ess:.0f}",
            f"{estimate.max_weight:.1f}",
        )
    console.print(table)
    for warning in (*read.warnings, *found.warnings):
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")


def verdicts(console: Console, read: DatasetReport, by_name: Mapping[str, Verdict]) -> None:
    """The answer for each candidate, best first."""
    for name in ranked(by_name):
        found = by_name[name]
        answer = "[green]promote[/green]" if found.promote else "[red]refuse[/red]"
        console.print(f"{answer} {escape(name)}: {escape(found.reason)}")
        if found.delta is not None and found.ci95 is not None:
            low, high = found.ci95
            console.print(
                f"  gain over {escape(found.baseline)}: {found.delta:+.4f} (95% interval "
                f"{low:+.4f} to {high:+.4f}), estimated by {found.estimator}"
            )
        if found.records_needed:
            console.print(f"  more records that would help: about {found.records_needed}")
    console.print(f"judged by {escape(read.in_words)}")
    for warning in read.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")


def ranked(by_name: Mapping[str, Verdict]) -> list[str]:
    """Names of the candidates, those promoted first, then by estimated gain."""

    def rank(name: str) -> tuple[bool, float]:
        found = by_name[name]
        return found.promote, -float("inf") if found.delta is None else found.delta

    return sorted(by_name, key=rank, reverse=True)
