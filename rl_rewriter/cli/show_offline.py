"""How learning from a log went, as people read it and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from rl_rewriter.cli.show_ladder import ladder, ladder_record

if TYPE_CHECKING:
    from rl_rewriter.training.offline_report import LogFitReport


def offline_record(out: Path, report: LogFitReport) -> dict[str, Any]:
    """The object that ``train --logs --json`` prints."""
    return {
        "schema": 1,
        "out": str(out),
        "policy_version": report.policy_version,
        "algorithm": "reinforce",
        "seconds": round(sum(report.seconds.values()), 3),
        "episodes": report.episodes,
        "records": report.n_records,
        "effective_records": report.effective_records,
        "validation": dict(report.validation),
        "gain_ci95": list(report.gain_ci95),
        "kl": report.kl,
        "ladder": ladder_record(report.ladder),
        "credit_explained": report.credit_explained,
        "unsupported": list(report.unsupported),
        "warnings": list(report.warnings),
    }


def _weight(report: LogFitReport) -> str:
    if report.effective_records is None:
        return ""
    return f" with the weight of {report.effective_records:.0f}"


def offline(console: Console, out: Path, report: LogFitReport) -> None:
    """What was learned, and that its figures are estimates."""
    value = report.validation
    by = "held-out records alone"
    if report.ladder is not None:
        by = "the credit of documents on held-out queries"
    console.print(
        f"policy {report.policy_version} saved to {escape(str(out))}\n"
        f"estimated, and chosen by: keep {value['keep']:.3f}, best single action "
        f"{value['best_fixed']:.3f}, policy {value['policy']:.3f}\n"
        f"by {by}: policy over keep {sum(report.gain_ci95) / 2:+.3f} "
        f"(95% interval {report.gain_ci95[0]:+.3f} to {report.gain_ci95[1]:+.3f})\n"
        f"{report.n_records} logged decisions{_weight(report)}, "
        f"KL to the reference {report.kl:.2f} nats"
    )
    ladder(console, report.ladder, by_credit=True)
    for warning in report.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")
    console.print(
        "whether to deploy it: rl-rewriter gate, on a log that it hasn't learned from", style="dim"
    )
