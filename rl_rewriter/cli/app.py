"""The commands, each a few lines: read options, call the library, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import rl_rewriter
from rl_rewriter.cli import show, show_comparison
from rl_rewriter.cli.benchmark import BENCHMARK_EXAMPLE, benchmark
from rl_rewriter.cli.drift import DRIFT_EXAMPLE, drift
from rl_rewriter.cli.logs_import import logs_app
from rl_rewriter.cli.monitor import MONITOR_EXAMPLE, monitor
from rl_rewriter.cli.off_policy import GATE_EXAMPLE, OPE_EXAMPLE, gate, ope
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.inputs import Data, Policy
from rl_rewriter.cli.options.ladder import LadderOptions
from rl_rewriter.cli.options.measuring import MeasureOptions
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.options.store import StoreOptions
from rl_rewriter.cli.policies_watch import policies_app
from rl_rewriter.cli.session import session
from rl_rewriter.cli.simulate_logs import SIMULATE_EXAMPLE, simulate_logs
from rl_rewriter.cli.train import TRAIN_EXAMPLE, train

app = typer.Typer(
    name="rl-rewriter",
    help="Learns, for each query, what to send to the retriever, and proves that it helps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(logs_app)
app.add_typer(policies_app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(rl_rewriter.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: rl-rewriter demo --out runs/demo")
@with_options(climbing=LadderOptions, run=RunOptions)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for all that is written.")] = Path("runs/demo"),
    data: Annotated[str, typer.Option(help='Bundled corpus: "demo" or "demo-zh".')] = "demo",
    *,
    climbing: LadderOptions,
    run: RunOptions,
) -> None:
    """Build a Chroma collection, train on it, compare on held-out queries: the main job."""
    with session(run) as current:
        from rl_rewriter.demo.run import run_demo
        from rl_rewriter.training.config import FitConfig

        result = run_demo(
            out,
            data=data,
            seed=run.seed,
            fit=climbing.applied_to(FitConfig()),
            on_progress=current.progress,
        )
        current.finish(result.record, lambda console: show.demo(console, result))


@app.command(epilog="Example: rl-rewriter headroom my_collection/")
@with_options(measure=MeasureOptions, store=StoreOptions, run=RunOptions)
def headroom(
    data: Data,
    folds: Annotated[int, typer.Option(help="Folds where the data bring no split.")] = 5,
    *,
    measure: MeasureOptions,
    store: StoreOptions,
    run: RunOptions,
) -> None:
    """Say what there is to gain before anyone trains; exit 3 where there is nothing to learn."""
    with session(run) as current:
        from rl_rewriter.benchmark.headroom import headroom_record, measure_headroom

        bench = measure.open(data, store, current.progress)
        show_comparison.notes([{"name": bench.name, "notes": bench.notes}])
        found = measure_headroom(bench, folds=folds, seed=run.seed, on_progress=current.progress)
        record = headroom_record(bench, found)
        current.finish(record, lambda console: show.headroom(console, bench, found))
        if found.verdict == "nothing_to_learn":
            current.refuse()


app.command(epilog=TRAIN_EXAMPLE)(train)
app.command(epilog=SIMULATE_EXAMPLE)(simulate_logs)


@app.command(epilog="Example: rl-rewriter evaluate --policy policy/ my_collection/")
@with_options(measure=MeasureOptions, store=StoreOptions, run=RunOptions)
def evaluate(
    data: Data,
    policy: Policy,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results, per-query values and run files.")
    ] = None,
    *,
    measure: MeasureOptions,
    store: StoreOptions,
    run: RunOptions,
) -> None:
    """Compare a saved policy with keep and the best single action on held-out queries."""
    with session(run) as current:
        from rl_rewriter.benchmark.comparison.figures import collection_record
        from rl_rewriter.benchmark.comparison.files import write_run
        from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
        from rl_rewriter.policies.checkpoint import load_checkpoint

        bench = measure.open(data, store, current.progress)
        checkpoint = load_checkpoint(policy, own_actions=bench.actions)
        found = evaluate_checkpoint(bench, checkpoint, seed=run.seed, on_progress=current.progress)
        record = collection_record(found)
        if out is not None:
            record = write_run(out, found, record, run.seed)
        show_comparison.notes([record])
        current.finish(record, lambda console: show_comparison.collection(console, record))


@app.command(epilog='Example: rl-rewriter rewrite --policy policy/ --data demo "money back?"')
@with_options(store=StoreOptions, run=RunOptions)
def rewrite(
    query: Annotated[str, typer.Argument(help="The user's words.")],
    policy: Policy,
    data: Annotated[
        str | None, typer.Option(help="Collection to search: BEIR folder or bundled corpus.")
    ] = None,
    history: Annotated[
        list[str] | None,
        typer.Option(help="An earlier turn; repeat it, user and assistant alternating."),
    ] = None,
    explore: Annotated[
        bool, typer.Option(help="Draw the action instead of taking the most probable one.")
    ] = False,
    *,
    store: StoreOptions,
    run: RunOptions,
) -> None:
    """Decide for one query and explain the decision."""
    with session(run) as current:
        from rl_rewriter.cli.one_query import blended_views, is_alike, open_for_serving
        from rl_rewriter.logs.records import decision_record

        rewriter = open_for_serving(policy, data, store.config(), run.seed, current.progress)
        found = rewriter.retrieve(query, k=5, history=history or (), explore=explore)
        record = decision_record(found.decision, found.ranking.documents())
        views, alike = blended_views(rewriter, found), is_alike(rewriter, found)
        current.finish(record, lambda console: show.decision(console, found, views, alike=alike))


@app.command(epilog="Example: rl-rewriter report runs/demo")
@with_options(run=RunOptions)
def report(
    run_dir: Annotated[Path, typer.Argument(help="Folder that benchmark, demo or evaluate wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write; RUN_DIR/report.html by default.")
    ] = None,
    *,
    run: RunOptions,
) -> None:
    """Write the HTML report of a run: one file that works without a network."""
    with session(run) as current:
        from rl_rewriter.benchmark.report.page import REPORT, write_page
        from rl_rewriter.benchmark.report.run_folder import read_run

        found = read_run(run_dir)
        written = write_page(found, out or run_dir / REPORT)
        record = {
            "schema": 1,
            "report": str(written),
            "collections": len(found.collections),
            "bytes": written.stat().st_size,
        }
        current.finish(record, lambda console: console.print(f"written: {written}", markup=False))


app.command(epilog=BENCHMARK_EXAMPLE)(benchmark)
app.command(epilog=OPE_EXAMPLE)(ope)
app.command(epilog=GATE_EXAMPLE)(gate)
app.command(epilog=DRIFT_EXAMPLE)(drift)
app.command(epilog=MONITOR_EXAMPLE)(monitor)
