"""``rl-rewriter train``: from judged queries against a collection, or from a decision log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.cli import show
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.ladder import LadderOptions
from rl_rewriter.cli.options.measuring import MeasureOptions
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.options.store import StoreOptions
from rl_rewriter.cli.options.training import TrainOptions
from rl_rewriter.cli.session import Session, session
from rl_rewriter.cli.show_comparison import notes
from rl_rewriter.cli.show_offline import offline, offline_record
from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.logs.bandit import LoggedBandit
    from rl_rewriter.retrieval.protocols import Retriever

TRAIN_EXAMPLE = "Example: rl-rewriter train my_collection/ --out policy/"


@with_options(
    settings=TrainOptions,
    climbing=LadderOptions,
    measure=MeasureOptions,
    store=StoreOptions,
    run=RunOptions,
)
def train(
    out: Annotated[Path, typer.Option(help="Folder of the saved policy.")],
    data: Annotated[
        str | None,
        typer.Argument(
            help="Judged queries, as for headroom. Beside --logs: the collection that was searched."
        ),
    ] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Learn from this decision log instead of judgements.")
    ] = None,
    default_reward: Annotated[
        float | None,
        typer.Option(help="Reward of logged decisions without feedback; left out by default."),
    ] = None,
    half_life_days: Annotated[
        float | None,
        typer.Option(
            help="From --logs: a record so many days older than the newest counts for half of it; "
            "all count alike by default."
        ),
    ] = None,
    metrics: Annotated[
        Path | None, typer.Option(help="Folder for training metrics (JSON lines, TensorBoard).")
    ] = None,
    *,
    settings: TrainOptions,
    climbing: LadderOptions,
    measure: MeasureOptions,
    store: StoreOptions,
    run: RunOptions,
) -> None:
    """Train a policy, online from judgements or offline from logged outcomes."""
    with session(run) as current:
        from rl_rewriter.policies.checkpoint import refuse_other_content
        from rl_rewriter.training.requirements import require_torch

        require_torch()
        refuse_other_content(out)
        training = _Training(current, out, metrics, settings, measure, store, run.seed)
        if logs is not None:
            _refuse_unused(climbing, is_searched=data is not None or store.config().is_own)
            training.from_logs(logs, _read(logs, default_reward), climbing, data, half_life_days)
        elif half_life_days is not None:
            raise InputError("--half-life-days is for learning from --logs")
        elif data is not None:
            training.from_judgements(data, climbing)
        else:
            raise InputError("name what to learn from: DATA with judgements, or --logs FILE")


def _refuse_unused(climbing: LadderOptions, *, is_searched: bool) -> None:
    """Raise where learning from a log has no use for an option.

    Args:
        climbing: The options.
        is_searched: Whether the collection is named that the logged rewriter searched.
    """
    if climbing.hurt_limit is not None:
        raise InputError("--hurt-limit is for learning from judgements, not from --logs")
    if climbing.prior and not is_searched:
        raise InputError(
            "--prior is what a blend starts from, and --logs alone teach none: name the collection "
            "that was searched, by DATA or by --chroma-path DIR --collection NAME, or leave out "
            "--prior"
        )


def _read(logs: Path, default_reward: float | None) -> LoggedBandit:
    """The log as arrays; problems go to standard error."""
    from rl_rewriter.logs.dataset import dataset
    from rl_rewriter.rewards.feedback import Expiry

    bandit, report = dataset(logs, expiry=Expiry(default=default_reward))
    notes([{"name": str(logs), "notes": report.warnings}])
    return bandit


@dataclass(frozen=True)
class _Training:
    """What both ways to learn have in common."""

    current: Session
    out: Path
    metrics: Path | None
    settings: TrainOptions
    measure: MeasureOptions
    store: StoreOptions
    seed: int

    def from_judgements(self, data: str, climbing: LadderOptions) -> None:
        """Learn against the collection."""
        from rl_rewriter.benchmark.tables import outcome_source
        from rl_rewriter.rewriter import RLQueryRewriter

        progress = self.current.progress
        reference = self.settings.reference_policy()
        config = climbing.applied_to(self.settings.config(self.seed), self.measure.actions)
        bench = self.measure.open(data, self.store, progress)
        notes([{"name": bench.name, "notes": bench.notes}])
        rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
        report = rewriter.fit(
            bench.train,
            bench.qrels,
            config=replace(config, reward=bench.reward),
            groups=bench.groups_of(bench.train),
            outcomes=outcome_source(bench, bench.retriever.statistics(), progress),
            reference=reference,
            on_progress=progress,
            metrics_dir=self.metrics,
        )
        rewriter.save(self.out)
        record = show.train_record(self.out, report)
        self.current.finish(record, lambda console: show.train(console, self.out, report))

    def from_logs(
        self,
        path: Path,
        log: LoggedBandit,
        climbing: LadderOptions,
        data: str | None,
        half_life_days: float | None,
    ) -> None:
        """Learn from logged outcomes; ``data`` names the collection that was searched."""
        from rl_rewriter.logs.shown import read_shown
        from rl_rewriter.rewriter import RLQueryRewriter

        reference, retriever = self.settings.reference_policy(), self._searched(data)
        rewriter = RLQueryRewriter(retriever, checkpoint=reference, seed=self.seed)
        config = self.settings.offline(self.seed)
        fit = climbing.applied_to(config.fit, self.measure.actions)
        report = rewriter.fit_logs(
            log,
            shown=read_shown(path, log.decision_ids) if retriever and fit.blend else None,
            config=replace(config, fit=fit, half_life_days=half_life_days),
            reference=reference,
            on_progress=self.current.progress,
            metrics_dir=self.metrics,
        )
        rewriter.save(self.out)
        record = offline_record(self.out, report)
        self.current.finish(record, lambda console: offline(console, self.out, report))

    def _searched(self, data: str | None) -> Retriever | None:
        """The collection that the logged rewriter searched, where it is named."""
        from rl_rewriter.benchmark.stores import open_own_retriever

        if data is not None:
            return self.measure.open(data, self.store, self.current.progress).retriever
        config = self.store.config()
        return open_own_retriever(config) if config.is_own else None
