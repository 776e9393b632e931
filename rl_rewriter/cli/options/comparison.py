"""How arms are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
    from rl_rewriter.training.config import FitConfig


@dataclass(frozen=True)
class BenchmarkOptions:
    """How arms are compared."""

    folds: Annotated[
        int | None,
        typer.Option(
            help="Cross-validate all queries by so many folds. By default a collection's own split "
            "is kept to, and 5 folds are made where it has none."
        ),
    ] = None
    seeds: Annotated[int, typer.Option(help="Policies that are trained on each fold.")] = 3
    metrics: Annotated[
        str, typer.Option(help="What is reported beside --metric, between commas.")
    ] = "ndcg@10,mrr@10,recall@10,map@10,hits@10"
    policy: Annotated[
        bool, typer.Option("--policy/--no-policy", help="Whether policies are trained at all.")
    ] = True
    workers: Annotated[
        int | None, typer.Option(help="Processes that train; one a processor by default.")
    ] = None

    def config(self, metric: str | None, fit: FitConfig) -> BenchmarkConfig:
        """The library's settings.

        Args:
            metric: What choices are made by; nDCG@10 by default.
            fit: How policies are trained, with the seed of the run.

        Raises:
            InputError: A setting cannot work.
        """
        from rl_rewriter.benchmark.comparison.config import BenchmarkConfig, parse_metrics
        from rl_rewriter.rewards.metrics import Metric

        return BenchmarkConfig(
            metrics=parse_metrics(self.metrics),
            metric=Metric.parse(metric) if metric else None,
            folds=self.folds,
            seeds=self.seeds if self.policy else 0,
            seed=fit.reinforce.seed,
            fit=fit,
            workers=self.workers,
        )
