"""The headroom report of a workbench."""

from __future__ import annotations

from typing import Any

from rl_rewriter.benchmark.tables import plain_table
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.evaluation.headroom import Headroom, headroom
from rl_rewriter.types import OnProgress


def measure_headroom(
    bench: Workbench,
    *,
    folds: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Headroom:
    """Carry out every action on every query and say what there is to gain.

    Where the data bring a split, the figures are about its held-out queries and choices are made
    on its training queries; else all queries are cross-validated.

    Args:
        bench: What to measure on.
        folds: Folds of the cross-validation.
        seed: Seed of folds, simulations and intervals.
        on_progress: Told how far the reward table is.
    """
    queries = [*bench.train, *bench.test]
    table = plain_table(bench, queries, on_progress)
    if bench.protocol == "split":
        n_train = len(bench.train)
        return headroom(
            table.subset(range(n_train, len(table))),
            train=table.subset(range(n_train)),
            groups=bench.groups_of(queries[n_train:]),
            seed=seed,
        )
    return headroom(table, groups=bench.groups_of(queries), folds=folds, seed=seed)


def headroom_record(bench: Workbench, found: Headroom) -> dict[str, Any]:
    """The object that ``headroom --json`` prints."""
    return {
        "schema": 1,
        "name": bench.name,
        "n_queries": found.n_queries,
        "metric": bench.reward.metric.name,
        "keep": found.keep,
        "actions": dict(found.actions),
        "best_fixed": {
            "action": found.best_action,
            "value": found.best_fixed,
            "ci95": list(found.best_fixed_ci95),
        },
        "oracle": found.oracle,
        "oracle_corrected": found.oracle_corrected,
        "predictable": found.predictable,
        "differ_share": found.differ_share,
        "verdict": found.verdict,
    }
