"""Drift as people read it in a terminal: the verdict first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rl_rewriter.monitoring.drift_report import DriftReport, Side
    from rl_rewriter.monitoring.shifts import Shift

COLOURS = {"stable": "green", "look": "yellow", "act": "red", "too few records": "yellow"}
_MOST = 12


def drift(console: Console, found: DriftReport, problems: Sequence[str]) -> None:
    """The verdict, what moved, and what happened to the rewards."""
    colour = COLOURS[found.verdict]
    console.print(f"[bold {colour}]{found.verdict}[/bold {colour}]: {escape(found.reason)}")
    for side in (found.reference, found.recent):
        console.print(f"{side.what}{_size(side)}", highlight=False)
    if found.shifts and not found.needed:
        console.print(_columns(found))
        for shift in found.shifts:
            if shift.name in found.alarms and shift.shares:
                console.print(f"{shift.name}: {_shares(shift)}")
    console.print(_reward(found))
    for note in (*found.notes, *problems[:3]):
        console.print(f"[yellow]note:[/yellow] {escape(note)}")


def moment(seconds: float) -> str:
    """A time as people write it; the number itself where no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"


def _size(side: Side) -> str:
    if side.n is None:
        return ""
    if side.times is None:
        return ": no decisions"
    return f": {side.n:,} decisions, {moment(side.times[0])} to {moment(side.times[1])}"


def _columns(found: DriftReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("column", no_wrap=True)
    for name in ("PSI", "by chance", "p (Holm)", "mean before", "mean now"):
        table.add_column(name, justify="right", no_wrap=True)
    for shift in found.shifts[:_MOST]:
        before, now = map("{:.3f}".format, shift.means) if shift.means else ("", "")
        cells = (
            escape(shift.name),
            f"{shift.found.psi:.3f}",
            f"{shift.found.by_chance:.3f}",
            f"{shift.p_holm:.2g}",
            before,
            now,
        )
        table.add_row(*cells, style="bold" if shift.name in found.alarms else None)
    if len(found.shifts) > _MOST:
        table.add_row(f"{len(found.shifts) - _MOST} others, which moved less", style="dim")
    return table


def _shares(shift: Shift) -> str:
    changes = (
        f"{escape(name or '(none)')} {before:.1%} -> {now:.1%}"
        for name, (before, now) in shift.shares.items()
    )
    return ", ".join(changes)


def _reward(found: DriftReport) -> str:
    change = found.reward
    if not found.n_rewards:
        return "rewards: no feedback has come"
    if change is None or not change.is_certain:
        return f"rewards: no change in {found.n_rewards:,}, one a conversation"
    return (
        f"rewards: {change.before:.3f} before, {change.after:.3f} from about "
        f"{moment(change.since)} on ({change.size:+.2f} standard deviations; "
        f"{change.n_after:,} rewards since)"
    )
