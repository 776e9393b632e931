"""``rl-rewriter simulate-logs``: a decision log of queries whose answers are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rl_rewriter.cli.options.groups import with_options
from rl_rewriter.cli.options.inputs import Data
from rl_rewriter.cli.options.measuring import MeasureOptions
from rl_rewriter.cli.options.run import RunOptions
from rl_rewriter.cli.options.store import StoreOptions
from rl_rewriter.cli.session import session

SIMULATE_EXAMPLE = "Example: rl-rewriter simulate-logs demo --policy epsilon:0.1 --out log.jsonl"


@with_options(measure=MeasureOptions, store=StoreOptions, run=RunOptions)
def simulate_logs(
    data: Data,
    out: Annotated[Path, typer.Option(help="Decision log to write; must not exist.")],
    policy: Annotated[
        str,
        typer.Option(
            help='Who decides: "uniform", "epsilon:E" (keep, but for a share E drawn evenly), or '
            "the folder of a saved policy, whose distribution is drawn from."
        ),
    ] = "uniform",
    sigma: Annotated[
        float,
        typer.Option(
            help="Draw the weights of a saved policy's learned blend, too: standard deviation of "
            "their logits, such as 0.3. 0 serves them as they are."
        ),
    ] = 0.0,
    n: Annotated[int, typer.Option("-n", "--decisions", help="Decisions to log.")] = 5000,
    *,
    measure: MeasureOptions,
    store: StoreOptions,
    run: RunOptions,
) -> None:
    """Write the log that a running chain would have left, with the metric as feedback."""
    with session(run) as current:
        from rl_rewriter.benchmark import simulated_logs
        from rl_rewriter.benchmark.logging_policy import LoggingPolicy

        bench = measure.open(data, store, current.progress)
        logging = LoggingPolicy.parse(policy, bench, sigma=sigma)
        written = simulated_logs.simulate_logs(
            bench, logging, out, n=n, seed=run.seed, on_progress=current.progress
        )
        record = {
            "schema": 1,
            "out": str(out),
            "decisions": written,
            "feedback": written,
            "metric": bench.reward.metric.name,
            "policy": policy,
            "sigma": sigma,
        }
        current.finish(
            record,
            lambda console: console.print(
                f"{written} decisions about {len(bench.train)} training queries of "
                f"{escape(bench.name)} written to {escape(str(out))}, each with its "
                f"{bench.reward.metric.name} as feedback"
            ),
        )
