"""The headroom report of a workbench."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rl_rewriter.benchmark.half_judgements import half_values
from rl_rewriter.benchmark.query_kinds import kinds_of
from rl_rewriter.benchmark.tables import plain_outcomes
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes, reward_table
from rl_rewriter.evaluation.headroom import Headroom, headroom_of
from rl_rewriter.evaluation.sample import Sample
from rl_rewriter.features.feature_set import FeatureSet
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
        seed: Seed of folds, halved judgements, tests and intervals.
        on_progress: Told how far the reward table is.
    """
    queries = [*bench.train, *bench.test]
    outcomes, features = plain_outcomes(bench, queries, on_progress=on_progress)
    if bench.protocol != "split":
        return headroom_of(sample_of(bench, outcomes, features, seed=seed), folds=folds, seed=seed)
    learned = outcomes.subset(range(len(bench.train)))
    held_out = outcomes.subset(range(len(bench.train), len(queries)))
    return headroom_of(
        sample_of(bench, held_out, features, seed=seed),
        train=Sample(
            reward_table(learned, bench.qrels, features, bench.reward), bench.groups_of(bench.train)
        ),
        folds=folds,
        seed=seed,
    )


def sample_of(
    bench: Workbench, outcomes: Outcomes, features: FeatureSet, *, seed: int = 0
) -> Sample:
    """Judged outcomes with all that headroom asks about them.

    Args:
        bench: Where the queries come from.
        outcomes: What every action retrieved for them.
        features: What the states are made of, not fitted: the regression scales them by what it
            learns from, fold by fold.
        seed: Seed of the halved judgements.
    """
    return Sample(
        table=reward_table(outcomes, bench.qrels, features, bench.reward),
        groups=bench.groups_of(outcomes.queries),
        kinds=kinds_of(outcomes.queries, bench.kinds),
        halves=half_values(outcomes, bench.qrels, bench.reward.metric, seed=seed),
    )


def headroom_record(bench: Workbench, found: Headroom) -> dict[str, Any]:
    """The object that ``headroom --json`` prints."""
    return {
        "schema": 1,
        "name": bench.name,
        "n_queries": found.n_queries,
        "n_groups": found.n_groups,
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
        "oracle_correction": found.oracle_correction,
        "predicted": _predicted(found),
        "predictable": found.predictable,
        "differ_share": found.differ_share,
        "by_kind": {kind: asdict(figures) for kind, figures in found.by_kind.items()},
        "queries_needed": found.queries_needed,
        "verdict": found.verdict,
    }


def _predicted(found: Headroom) -> dict[str, Any] | None:
    """What the regression reaches, and its gain over the best single action."""
    if found.predicted is None or found.predicted_ci95 is None:
        return None
    return {
        "value": found.predicted,
        "delta": found.predicted - found.best_fixed,
        "ci95": list(found.predicted_ci95),
    }
