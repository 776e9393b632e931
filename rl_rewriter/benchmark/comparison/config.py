"""Settings of a comparison run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.config import FitConfig

METRICS = tuple(Metric(kind, 10) for kind in ("ndcg", "mrr", "recall", "map", "hits"))
"""What is reported where nothing else is asked for."""
MAX_DEPTH = 1000
"""Rankings of every action on every query are held in memory."""
FOLDS = 5
SEEDS = 3


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig:
    """What is compared, and how.

    Attributes:
        metrics: What is reported.
        metric: What choices are made by; nDCG@10 by default, an environment's own for those.
        folds: Folds by which all queries are cross-validated; None keeps to a collection's own
            split, and takes five folds where it has none.
        seeds: Policies trained on each fold, with the seeds ``seed``, ``seed + 1`` and so on; with
            0 no policy is trained.
        seed: Seed of folds, tests and intervals, and the first one of the policies.
        fit: How policies are trained; its seed and reward are set for each of them.
        workers: Processes that train; the number of processors by default.
    """

    metrics: tuple[Metric, ...] = METRICS
    metric: Metric | None = None
    folds: int | None = None
    seeds: int = SEEDS
    seed: int = 0
    fit: FitConfig = field(default_factory=FitConfig)
    workers: int | None = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        if self.folds is not None and self.folds < 2:
            raise InputError(f"at least two folds are needed to cross-validate, got {self.folds}")
        if self.seeds < 0 or self.seed < 0:
            raise InputError(f"seeds must not be negative, got {min(self.seeds, self.seed)}")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"at least one worker is needed, got {self.workers}")
        if not self.metrics:
            raise InputError("name at least one metric to report")
        for metric in (*self.metrics, *(() if self.metric is None else (self.metric,))):
            if metric.depth > MAX_DEPTH:
                raise InputError(
                    f"metrics may look at {MAX_DEPTH} documents at most, got {metric.name}"
                )
        if self.fit.embedding_components:
            raise InputError(
                "embedding_components must be 0 in a comparison: directions of embeddings would be "
                "learned from held-out queries as well"
            )

    @property
    def n_workers(self) -> int:
        """Processes that train."""
        return self.workers or os.cpu_count() or 1

    @property
    def policy_seeds(self) -> tuple[int, ...]:
        """Seed of each policy."""
        return tuple(range(self.seed, self.seed + self.seeds))

    def reported(self, metric: Metric) -> tuple[Metric, ...]:
        """All metrics, the one that choices are made by among them."""
        return tuple(dict.fromkeys((metric, *self.metrics)))


def parse_metrics(names: str) -> tuple[Metric, ...]:
    """Read "ndcg@10,recall@100".

    Raises:
        InputError: A name isn't that of a metric.
    """
    return tuple(Metric.parse(name) for name in names.split(",") if name.strip())


def depth_of(metrics: Sequence[Metric]) -> int:
    """The deepest look of all."""
    return max(metric.depth for metric in metrics)
