"""``rl-rewriter policies watch``: roll back where live rewards say so."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.cli import show_policies as show
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.policies import Registry, open_registry, policies_app
from rl_rewriter.cli.session import session
from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.rollout.roll_back import RollBackConfig

__all__ = ["policies_app"]

_EXAMPLE = "Example: rl-rewriter policies watch registry/ --logs decisions.jsonl --once"


@dataclass(frozen=True)
class RuleOptions:
    """When a policy is rolled back."""

    alpha: Annotated[
        float,
        typer.Option(help="Chance to roll back a policy as good as its baseline, over all looks."),
    ] = 0.05
    tolerance: Annotated[
        float, typer.Option(help="Loss that is put up with, in units of the reward.")
    ] = 0.0
    min_sessions: Annotated[
        int, typer.Option(help="Sessions with a reward that each side needs first.")
    ] = 100
    horizon: Annotated[
        int | None,
        typer.Option(help="Sessions after which a loss of --max-loss must be excluded; never."),
    ] = None
    max_loss: Annotated[float | None, typer.Option(help="See --horizon.")] = None
    wait: Annotated[float, typer.Option(help="Seconds that feedback is waited for.")] = 3_600.0
    session_seconds: Annotated[float, typer.Option(help="How long a session lasts.")] = 1_800.0
    default_reward: Annotated[
        float | None,
        typer.Option(help="Reward of decisions without feedback; they are left out by default."),
    ] = None

    def config(self) -> RollBackConfig:
        """The library's settings.

        Raises:
            InputError: A setting cannot work.
        """
        from rl_rewriter.rewards.feedback import Expiry
        from rl_rewriter.rollout.roll_back import RollBackConfig

        return RollBackConfig(
            alpha=self.alpha,
            tolerance=self.tolerance,
            min_sessions=self.min_sessions,
            horizon=self.horizon,
            max_loss=self.max_loss,
            session_seconds=self.session_seconds,
            expiry=Expiry(after=self.wait, default=self.default_reward, mature_only=True),
        )


@policies_app.command(epilog=_EXAMPLE)
@with_options(rule=RuleOptions, run=RunOptions)
def watch(
    registry: Registry,
    logs: Annotated[Path, typer.Option(help="Decision log that serving writes, JSON lines.")],
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 60.0,
    *,
    rule: RuleOptions,
    run: RunOptions,
) -> None:
    """Compare the policy on trial with its baseline; exit 3 where it was rolled back."""
    with session(run) as current:
        from rl_rewriter.rollout.watch import Watch

        if not 0.0 < every < float("inf"):
            raise InputError(f"every must be a number of seconds above 0, got {every}")
        watching = Watch(open_registry(registry), logs, rule.config())
        found = watching.look()
        while not once and not found.rolled_back:
            typer.echo(found.reason, err=True)
            time.sleep(every)
            found = watching.look()
        current.finish(found.to_json(), lambda console: show.look(console, found))
        if found.rolled_back:
            current.refuse()
