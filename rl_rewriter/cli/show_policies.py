"""A registry, its history and its watch as objects and as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rl_rewriter.evaluation.off_policy.verdict import Verdict
    from rl_rewriter.rollout.registry import PolicyRegistry
    from rl_rewriter.rollout.watch import Look

_KEEP = "keep"
_TOLD = ("time", "event", "revision", "who", "version")


def registry_record(registry: PolicyRegistry) -> dict[str, Any]:
    """What ``list`` prints."""
    from rl_rewriter.rollout.kill_switch import KillSwitch

    state = registry.state()
    return {
        "schema": 1,
        "registry": str(registry.folder),
        "revision": state.revision,
        "current": state.current.to_json(),
        "baseline": state.baseline or _KEEP,
        "kill_switch": KillSwitch(registry.files.kill).why(),
        "policies": [
            {
                "version": version,
                "added": note.added,
                "note": note.note,
                "role": state.role(version),
            }
            for version, note in sorted(state.policies.items(), key=lambda item: item[1].added)
        ],
    }


def registry(console: Console, record: Mapping[str, Any]) -> None:
    """What is served, and all policies."""
    if record["kill_switch"]:
        console.print(f"[red]off:[/red] {escape(record['kill_switch'])}; every query is kept")
    console.print(_served(record["current"], record["baseline"]))
    if not record["policies"]:
        return
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for name in ("version", "role", "added", "note"):
        table.add_column(name)
    for policy in record["policies"]:
        table.add_row(
            policy["version"], policy["role"], _when(policy["added"]), escape(policy["note"])
        )
    console.print(table)


def promotion_record(
    registry: PolicyRegistry, version: str, promoted: bool, verdict: Verdict | None
) -> dict[str, Any]:
    """What ``promote`` prints."""
    state = registry.state()
    return {
        "schema": 1,
        "version": version,
        "promoted": promoted,
        "current": state.current.to_json(),
        "baseline": state.baseline or _KEEP,
        "gate": None if verdict is None else verdict.to_json(),
    }


def promotion(console: Console, record: Mapping[str, Any]) -> None:
    """What the gate said, and what is served now."""
    gate = record["gate"]
    if gate is not None:
        answer = "[green]promote[/green]" if gate["promote"] else "[red]refuse[/red]"
        console.print(f"{answer} {record['version']}: {escape(gate['reason'])}")
    console.print(_served(record["current"], record["baseline"]))


def history(console: Console, events: Sequence[Mapping[str, Any]]) -> None:
    """One change a line."""
    for event in events:
        more = {name: value for name, value in event.items() if name not in _TOLD and value != ""}
        told = ", ".join(f"{name} {value}" for name, value in more.items())
        parts = (_when(event.get("time")), event.get("event"), event.get("version"), told)
        line = "  ".join(str(part) for part in (*parts, f"by {event.get('who')}") if part)
        console.print(line, markup=False)


def problems(console: Console, found: Sequence[str]) -> None:
    """One problem a line."""
    for problem in found or ("every policy loads and is what its version says",):
        console.print(problem, markup=False)


def look(console: Console, found: Look) -> None:
    """What a look found."""
    if found.rolled_back:
        now = found.baseline or _KEEP
        console.print(f"[red]rolled back[/red] {found.candidate}: {now} is served to all now")
    console.print(escape(found.reason))
    for warning in found.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")


def _served(current: Mapping[str, Any], baseline: str) -> str:
    version, share = current["version"], current["share"]
    if version is None:
        return "no policy is promoted: every query is kept"
    rest = "" if share == 1.0 else f"; the others get {baseline}"
    told = "all sessions" if share == 1.0 else f"{share:.3g} of sessions"
    if current["shadow"]:
        return f"{version} decides in the shadow for {told}, which get keep{rest}"
    return f"{version} is served to {told}{rest or f'; a roll-back leads to {baseline}'}"


def _when(time: Any) -> str:
    try:
        return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (TypeError, ValueError, OverflowError, OSError):
        return "?"
