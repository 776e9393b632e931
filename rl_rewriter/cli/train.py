"""``rl-rewriter train``: from judged queries against a collection, or from a decision log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.cli import show
from rl_rewriter.cli.options import MeasureOptions, RunOptions, StoreOptions, TrainOptions
from rl_rewriter.cli.session import Session, session
from rl_rewriter.cli.shared import with_options
from rl_rewriter.cli.show_comparison import notes
from rl_rewriter.cli.show_offline import offline, offline_record
from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.logs.bandit import LoggedBandit
    from rl_rewriter.retrieval.protocols import Retriever

TRAIN_EXAMPLE = "Example: rl-rewriter train my_collection/ --out policy/"


@with_options(settings=TrainOptions, measure=MeasureOptions, store=StoreOptions, run=RunOptions)
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
    metrics: Annotated[
        Path | None, typer.Option(help="Folder for training metrics (JSON lines, TensorBoard).")
    ] = None,
    *,
    settings: TrainOptions,
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
        if logs is not None:
            source = _Source(logs, default_reward, data)
            _from_logs(current, source, out, metrics, settings, measure, store, run.seed)
        elif data is not None:
            _from_judgements(current, data, out, metrics, settings, measure, store, run.seed)
        else:
            raise InputError("name what to learn from: DATA with judgements, or --logs FILE")


def _from_judgements(
    current: Session,
    data: str,
    out: Path,
    metrics: Path | None,
    settings: TrainOptions,
    measure: MeasureOptions,
    store: StoreOptions,
    seed: int,
) -> None:
    from rl_rewriter.benchmark.tables import outcome_source
    from rl_rewriter.rewriter import RLQueryRewriter

    reference = settings.reference_policy()
    config = settings.config(seed)
    bench = measure.open(data, store, current.progress)
    notes([{"name": bench.name, "notes": bench.notes}])
    rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
    report = rewriter.fit(
        bench.train,
        bench.qrels,
        config=replace(config, reward=bench.reward),
        groups=bench.groups_of(bench.train),
        outcomes=outcome_source(bench, bench.retriever.statistics(), current.progress),
        reference=reference,
        on_progress=current.progress,
        metrics_dir=metrics,
    )
    rewriter.save(out)
    record = show.train_record(out, settings.algorithm, report)
    current.finish(record, lambda console: show.train(console, out, report))


@dataclass(frozen=True)
class _Source:
    """A log, what its decisions without feedback are worth, and what was searched."""

    logs: Path
    default_reward: float | None
    data: str | None

    def read(self) -> LoggedBandit:
        """The log as arrays; problems go to standard error."""
        from rl_rewriter.logs.dataset import dataset
        from rl_rewriter.rewards.feedback import Expiry

        bandit, report = dataset(self.logs, expiry=Expiry(default=self.default_reward))
        notes([{"name": str(self.logs), "notes": report.warnings}])
        return bandit


def _from_logs(
    current: Session,
    source: _Source,
    out: Path,
    metrics: Path | None,
    settings: TrainOptions,
    measure: MeasureOptions,
    store: StoreOptions,
    seed: int,
) -> None:
    from rl_rewriter.rewriter import RLQueryRewriter

    reference = settings.reference_policy()
    searched = _searched(current, source.data, measure, store)
    rewriter = RLQueryRewriter(searched, checkpoint=reference, seed=seed)
    report = rewriter.fit_logs(
        source.read(),
        config=settings.offline(seed),
        reference=reference,
        on_progress=current.progress,
        metrics_dir=metrics,
    )
    rewriter.save(out)
    current.finish(offline_record(out, report), lambda console: offline(console, out, report))


def _searched(
    current: Session, data: str | None, measure: MeasureOptions, store: StoreOptions
) -> Retriever | None:
    """The collection that the logged rewriter searched, where it is named."""
    from rl_rewriter.benchmark.stores import open_own_retriever

    if data is not None:
        return measure.open(data, store, current.progress).retriever
    config = store.config()
    return open_own_retriever(config) if config.is_own else None
