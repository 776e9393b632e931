"""One frame of ``rl-rewriter monitor``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from rl_rewriter.cli.show_drift import COLOURS, moment

if TYPE_CHECKING:
    from rl_rewriter.monitoring.live import MeanReward, Snapshot

_MOST = 8
_BAR = 12


def frame(console: Console, log: Path, found: Snapshot) -> None:
    """Print one frame."""
    console.print(view(str(log), found))


def view(name: str, found: Snapshot) -> RenderableType:
    """All that is shown of a log."""
    shares = Columns(
        [
            _shares("actions", found.actions, found.decisions),
            _shares("reasons", found.reasons, found.decisions),
        ],
        padding=(0, 4),
    )
    parts: list[RenderableType] = [*_head(name, found), Text(), shares]
    if found.rewards:
        parts += [Text(), _rewards(found.rewards)]
    if found.warnings:
        parts += [Text(), Text("last fallbacks", style="bold")]
        parts += [Text(f"  {warning}", style="red") for warning in found.warnings]
    if found.skipped:
        counts = ", ".join(f"{reason} {n:,}" for reason, n in found.skipped.items())
        parts += [Text(), Text(f"lines that are no record: {counts}", style="yellow")]
    return Group(*parts)


def _head(name: str, found: Snapshot) -> list[Text]:
    lines = [Text(name, style="bold")]
    span = f", {moment(found.times[0])} to {moment(found.times[1])}" if found.times else ""
    lines.append(
        Text(f"{found.decisions:,} decisions, {found.per_second:.1f} requests/s at last{span}")
    )
    if found.latency_ms:
        p50, p95, p99 = found.latency_ms
        lines.append(Text(f"deciding: p50 {p50:.2f} ms, p95 {p95:.2f} ms, p99 {p99:.2f} ms"))
    share = found.fallbacks / found.decisions if found.decisions else 0.0
    fallbacks = Text("fallbacks: ")
    fallbacks.append(f"{found.fallbacks:,} ({share:.1%})", style="red" if share else "green")
    fallbacks.append(f"; feedback: {found.feedback:,}, for {found.answered_share:.1%} of decisions")
    lines.append(fallbacks)
    if found.drift is not None:
        drift = Text("drift: ")
        drift.append(found.drift.verdict, style=f"bold {COLOURS[found.drift.verdict]}")
        drift.append(f": {found.drift.reason}")
        lines.append(drift)
    return lines


def _shares(title: str, counts: Mapping[str, int], total: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.title_style = "bold"
    table.show_header = False
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    shown = list(counts.items())[:_MOST]
    rest = total - sum(n for _, n in shown)
    for name, n in [*shown, *([("others", rest)] if rest > 0 else [])]:
        share = n / total if total else 0.0
        style = "red" if name.startswith("fallback") else ""
        bar = Text("█" * round(share * _BAR), style=style or "cyan")
        table.add_row(Text(name or "(none)", style=style), bar, Text(f"{share:.1%}", style=style))
    return table


def _rewards(rewards: Sequence[MeanReward]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("policy", "stage"):
        table.add_column(name, no_wrap=True)
    for name in ("rewards", "mean", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for reward in rewards[:_MOST]:
        low_high = "" if reward.ci95 is None else f"{reward.ci95[0]:.3f} to {reward.ci95[1]:.3f}"
        table.add_row(
            Text(reward.version or "(none)"),
            Text(reward.stage),
            f"{reward.n:,}",
            f"{reward.mean:.3f}",
            low_high,
        )
    return table
