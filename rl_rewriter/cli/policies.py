"""``rl-rewriter policies``: bringing policies into service, and out of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.cli import show_policies as show
from rl_rewriter.cli.off_policy import GateOptions
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session

if TYPE_CHECKING:
    from rl_rewriter.rollout.registry import PolicyRegistry

policies_app = typer.Typer(
    name="policies",
    help="Registry of policies: add, promote by shares, watch, roll back, switch off.",
    no_args_is_help=True,
)

Registry = Annotated[Path, typer.Argument(metavar="REG", help="Folder of the registry.")]
Version = Annotated[
    str, typer.Argument(metavar="VERSION", help="A version that list shows, or how it begins.")
]
Reason = Annotated[str, typer.Option(help="For the history.")]


def open_registry(folder: Path) -> PolicyRegistry:
    """The library's registry."""
    from rl_rewriter.rollout.registry import PolicyRegistry

    return PolicyRegistry(folder)


@policies_app.command(epilog="Example: rl-rewriter policies add registry/ policy/")
@with_options(run=RunOptions)
def add(
    registry: Registry,
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="Folder of a saved policy.")],
    note: Annotated[str, typer.Option(help="Anything to be remembered with it.")] = "",
    *,
    run: RunOptions,
) -> None:
    """Copy a saved policy into the registry; nothing is served by that."""
    with session(run) as current:
        held = open_registry(registry)
        version = held.add(policy, note)
        record = {"schema": 1, "registry": str(registry), "version": version}
        current.finish(record, lambda console: console.print(version))


@policies_app.command("list", epilog="Example: rl-rewriter policies list registry/")
@with_options(run=RunOptions)
def list_policies(registry: Registry, *, run: RunOptions) -> None:
    """Say what is served, and which policies there are."""
    with session(run) as current:
        record = show.registry_record(open_registry(registry))
        current.finish(record, lambda console: show.registry(console, record))


@policies_app.command(
    epilog="Example: rl-rewriter policies promote registry/ 3f2a --share 0.1 --gate log.jsonl"
)
@with_options(gate=GateOptions, run=RunOptions)
def promote(
    registry: Registry,
    version: Version,
    share: Annotated[float, typer.Option(help="Share of sessions that get it.")] = 1.0,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Let it decide and be logged, but serve keep.")
    ] = False,
    reason: Reason = "",
    gate_log: Annotated[
        Path | None,
        typer.Option(
            "--gate",
            metavar="LOG",
            help="Refuse (exit 3) unless this decision log shows a gain over what is served to all "
            "now; the options below say how.",
        ),
    ] = None,
    default_reward: Annotated[
        float | None,
        typer.Option(help="Reward of the log's decisions without feedback; left out by default."),
    ] = None,
    *,
    gate: GateOptions,
    run: RunOptions,
) -> None:
    """Serve a policy to all sessions or to a share of them."""
    with session(run) as current:
        held = open_registry(registry)
        name = held.resolve(version)
        verdict = None
        if gate_log is not None:
            from rl_rewriter.cli.gated_promotion import verdict_for

            verdict = verdict_for(held, name, gate_log, gate.config(), default_reward, run.seed)
        promoted = verdict is None or verdict.promote
        if promoted:
            held.promote(name, share=share, shadow=shadow, reason=reason)
        record = show.promotion_record(held, name, promoted, verdict)
        current.finish(record, lambda console: show.promotion(console, record))
        if not promoted:
            current.refuse()


@policies_app.command("roll-back", epilog="Example: rl-rewriter policies roll-back registry/")
@with_options(run=RunOptions)
def roll_back(registry: Registry, reason: Reason = "by hand", *, run: RunOptions) -> None:
    """Serve to all sessions what was served to all before."""
    with session(run) as current:
        held = open_registry(registry)
        held.roll_back(reason)
        record = show.registry_record(held)
        current.finish(record, lambda console: show.registry(console, record))


@policies_app.command(epilog="Example: rl-rewriter policies history registry/")
@with_options(run=RunOptions)
def history(registry: Registry, *, run: RunOptions) -> None:
    """Show all changes, oldest first."""
    with session(run) as current:
        events = list(open_registry(registry).history())
        record = {"schema": 1, "registry": str(registry), "events": events}
        current.finish(record, lambda console: show.history(console, events))


@policies_app.command(epilog="Example: rl-rewriter policies verify registry/")
@with_options(run=RunOptions)
def verify(registry: Registry, *, run: RunOptions) -> None:
    """Load every policy of the registry; exit 3 where one is damaged."""
    with session(run) as current:
        problems = list(open_registry(registry).verify())
        record = {"schema": 1, "registry": str(registry), "problems": problems}
        current.finish(record, lambda console: show.problems(console, problems))
        if problems:
            current.refuse()


@policies_app.command(epilog="Example: rl-rewriter policies remove registry/ 3f2a")
@with_options(run=RunOptions)
def remove(registry: Registry, version: Version, *, run: RunOptions) -> None:
    """Delete a policy that is neither served nor rolled back to."""
    with session(run) as current:
        held = open_registry(registry)
        name = held.resolve(version)
        held.remove(name)
        record = {"schema": 1, "registry": str(registry), "removed": name}
        current.finish(record, lambda console: console.print(f"removed {name}"))


@policies_app.command(epilog="Example: rl-rewriter policies off registry/")
@with_options(run=RunOptions)
def off(registry: Registry, reason: Reason = "", *, run: RunOptions) -> None:
    """Switch off: every query is kept, from the next half second on."""
    with session(run) as current:
        open_registry(registry).switch_off(reason)
        record = {"schema": 1, "registry": str(registry), "kill_switch": True}
        current.finish(record, lambda console: console.print("off: every query is kept"))


@policies_app.command(epilog="Example: rl-rewriter policies on registry/")
@with_options(run=RunOptions)
def on(registry: Registry, reason: Reason = "", *, run: RunOptions) -> None:
    """Switch on again: the registry's rollout goes on."""
    with session(run) as current:
        open_registry(registry).switch_on(reason)
        record = {"schema": 1, "registry": str(registry), "kill_switch": False}
        current.finish(record, lambda console: console.print("on: the rollout goes on"))
