"""``rl-rewriter ope`` and ``gate``: what a policy would earn, and whether to deploy it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_rewriter.cli import show_off_policy as show
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.inputs import Policy
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.session import session
from rl_rewriter.cli.show_comparison import notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
    from rl_rewriter.evaluation.off_policy.gate import Baseline
    from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
    from rl_rewriter.evaluation.off_policy.verdict import Verdict
    from rl_rewriter.logs.bandit import LoggedBandit
    from rl_rewriter.logs.dataset_report import DatasetReport
    from rl_rewriter.policies.checkpoint import Checkpoint

OPE_EXAMPLE = "Example: rl-rewriter ope --policy policy/ --logs decisions.jsonl"
GATE_EXAMPLE = "Example: rl-rewriter gate --policy policy/ --logs decisions.jsonl --baseline keep"


@dataclass(frozen=True)
class LogOptions:
    """The log that a policy is judged by."""

    logs: Annotated[Path, typer.Option(help="Decision log with propensities and feedback.")]
    default_reward: Annotated[
        float | None,
        typer.Option(help="Reward of decisions without feedback; they are left out by default."),
    ] = None
    explore: Annotated[
        bool,
        typer.Option(
            help="Judge the policy as it draws actions, not as it takes the most probable one."
        ),
    ] = False
    independent: Annotated[
        bool,
        typer.Option(
            help="Take records of one conversation for independent: intervals are then about the "
            "logged conversations, not about new ones."
        ),
    ] = False

    def read(
        self, judged: Sequence[Checkpoint]
    ) -> tuple[LoggedBandit, DatasetReport, tuple[str, ...]]:
        """The log as arrays, without what the judged policies learned from, and what to say."""
        from rl_rewriter.evaluation.off_policy.unseen import unseen
        from rl_rewriter.logs.dataset import dataset
        from rl_rewriter.rewards.feedback import Expiry

        bandit, report = dataset(self.logs, expiry=Expiry(default=self.default_reward))
        left, said = unseen(bandit, judged)
        notes([{"name": str(self.logs), "notes": said}])
        return left, report, said


@with_options(log=LogOptions, run=RunOptions)
def ope(
    policy: Policy,
    interval: Annotated[
        str, typer.Option(help='How intervals are made: "t", "bootstrap" or "bernstein".')
    ] = "t",
    *,
    log: LogOptions,
    run: RunOptions,
) -> None:
    """Estimate from logs what a policy would have earned, by every estimator."""
    with session(run) as current:
        from rl_rewriter.evaluation.off_policy.evaluate import EvaluationConfig, evaluate_off_policy
        from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
        from rl_rewriter.policies.checkpoint import load_checkpoint

        config = EvaluationConfig(interval=interval, seed=run.seed)  # type: ignore[arg-type]  # checked there
        checkpoint = load_checkpoint(policy)
        bandit, read, said = log.read([checkpoint])
        judged = JudgedLog.of(bandit, [checkpoint], seed=run.seed, independent=log.independent)
        notes([{"name": str(log.logs), "notes": judged.notes()}])
        found = evaluate_off_policy(judged.sample_of(checkpoint, explore=log.explore), config)
        record = found.to_json() | {"n": read.decisions}
        record["warnings"] = [*said, *_notes(read), *judged.notes(), *found.warnings]
        current.finish(record, lambda console: show.estimates(console, read, found))


@dataclass(frozen=True)
class GateOptions:
    """What a policy has to show."""

    margin: Annotated[float, typer.Option(help="Gain to exceed, in units of the reward.")] = 0.0
    level: Annotated[float, typer.Option(help="Confidence of the one-sided lower bound.")] = 0.975
    estimator: Annotated[str, typer.Option(help="auto, dr, snips, ips or sndr.")] = "auto"
    max_outside: Annotated[
        float, typer.Option(help="Largest share of decisions that the log can't speak about.")
    ] = 0.05
    max_age_days: Annotated[
        float | None, typer.Option(help="Greatest age of the latest record; any by default.")
    ] = None

    def config(self) -> GateConfig:
        """The library's settings.

        Raises:
            InputError: A setting cannot work.
        """
        from rl_rewriter.evaluation.off_policy.gate_config import GateConfig

        return GateConfig(
            margin=self.margin,
            level=self.level,
            estimator=self.estimator,  # type: ignore[arg-type]  # checked by GateConfig
            max_outside_support=self.max_outside,
            max_age_days=self.max_age_days,
        )


@with_options(gate=GateOptions, log=LogOptions, run=RunOptions)
def gate(
    policy: Annotated[
        list[Path],
        typer.Option(help="Folder of a saved policy; repeat it for several candidates."),
    ],
    baseline: Annotated[
        str, typer.Option(help='What to beat: "logged", "keep" or the folder of a policy.')
    ] = "logged",
    *,
    gate: GateOptions,
    log: LogOptions,
    run: RunOptions,
) -> None:
    """Promote a policy whose gain the logs show, or refuse it with the reason (exit 3)."""
    with session(run) as current:
        from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
        from rl_rewriter.evaluation.off_policy.gate import gate as decide
        from rl_rewriter.logs.config import SECONDS_A_DAY
        from rl_rewriter.policies.checkpoint import load_checkpoint

        config = gate.config()
        candidates = {str(folder): load_checkpoint(folder) for folder in policy}
        rival = None if baseline in ("logged", "keep") else load_checkpoint(Path(baseline))
        known = [*candidates.values()] if rival is None else [*candidates.values(), rival]
        bandit, read, said = log.read(known)
        judged = JudgedLog.of(bandit, known, seed=run.seed, independent=log.independent)
        notes([{"name": str(log.logs), "notes": judged.notes()}])
        verdicts = decide(
            {
                name: judged.sample_of(checkpoint, explore=log.explore)
                for name, checkpoint in candidates.items()
            },
            _baseline(judged, baseline, rival, explore=log.explore),
            config,
            age_days=(time.time() - float(bandit.times.max())) / SECONDS_A_DAY,
            read=read,
        )
        record = _gate_record(verdicts) | {
            "n": read.decisions,
            "n_usable": len(bandit) - _unknown(bandit),
            "warnings": [*said, *_notes(read), *judged.notes()],
        }
        current.finish(record, lambda console: show.verdicts(console, read, verdicts))
        if not record["promote"]:
            current.refuse()


def _unknown(bandit: LoggedBandit) -> int:
    """Records without a propensity."""
    import numpy as np

    return int(np.isnan(bandit.propensities).sum())


def _baseline(judged: JudgedLog, name: str, rival: Checkpoint | None, *, explore: bool) -> Baseline:
    from rl_rewriter.evaluation.off_policy.gate import Baseline

    if rival is not None:
        return judged.baseline(name, rival, explore=explore)
    return Baseline(name, judged.keep() if name == "keep" else None)


def _gate_record(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """The verdict; of several candidates that of the best one, with all others beside it."""
    best = show.ranked(verdicts)[0]
    record = verdicts[best].to_json()
    if len(verdicts) == 1:
        return record
    return record | {
        "policy": best,
        "candidates": {name: found.to_json() for name, found in verdicts.items()},
    }


def _notes(read: DatasetReport) -> Sequence[str]:
    """What was left out of the log, and what is wrong with it."""
    left_out = [f"judged by {read.in_words}"] if read.counts else []
    return [*left_out, *read.warnings]
