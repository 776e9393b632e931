"""``rl-rewriter benchmark``: retrievers and rewriters on several collections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rl_rewriter.cli import show_comparison as show
from rl_rewriter.cli.options.comparison import BenchmarkOptions
from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.ladder import LadderOptions
from rl_rewriter.cli.options.measuring import MeasureOptions
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.options.store import SearchOptions
from rl_rewriter.cli.options.training import TrainOptions
from rl_rewriter.cli.session import session
from rl_rewriter.errors import InputError

BENCHMARK_EXAMPLE = (
    "Example: rl-rewriter benchmark scifact/ cranfield/ --out runs/two --base chroma"
)


@with_options(
    compare=BenchmarkOptions,
    search=SearchOptions,
    measure=MeasureOptions,
    settings=TrainOptions,
    climbing=LadderOptions,
    run=RunOptions,
)
def benchmark(
    data: Annotated[
        list[str],
        typer.Argument(
            help="Collections: folders in BEIR or TREC layout, CSV, TSV, JSON or JSON-lines files "
            "and datasets (docs/collections.md), "
            '"demo", "demo-zh", "fixture" or "simulator[:SEED]".'
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the run; a run that was stopped is taken up there.")
    ],
    *,
    compare: BenchmarkOptions,
    search: SearchOptions,
    measure: MeasureOptions,
    settings: TrainOptions,
    climbing: LadderOptions,
    run: RunOptions,
) -> None:
    """Compare retrievers and rewriters on held-out queries; takes up a run that was stopped."""
    with session(run) as current:
        from rl_rewriter.benchmark.comparison.benchmark import run_benchmark
        from rl_rewriter.benchmark.comparison.plan import BenchmarkRequest

        if settings.reference_policy() is not None:
            raise InputError(
                "the policies of a comparison cannot be held to a saved one, which may know the "
                "held-out queries; give --reference keep, best-fixed or uniform"
            )
        fit = climbing.applied_to(settings.config(run.seed), measure.actions)
        request = BenchmarkRequest(
            data=tuple(data),
            out=out,
            stores=search.configs(),
            config=compare.config(measure.metric, fit),
            sources=measure.sources(search.cache),
            limit_queries=measure.limit_queries,
        )
        results = run_benchmark(request, current.progress)
        show.notes(results["collections"])
        current.finish(results, lambda console: show.benchmark(console, results, str(out)))
