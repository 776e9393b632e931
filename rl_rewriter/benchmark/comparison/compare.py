"""One collection searched by one retriever: from a workbench to the choices of every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.arm_names import BEST_FIXED, POLICY
from rl_rewriter.benchmark.comparison.blends import Served, serve_blends
from rl_rewriter.benchmark.comparison.calibration import expected_gains
from rl_rewriter.benchmark.comparison.choosing import Chosen, choose, fit_tasks
from rl_rewriter.benchmark.comparison.compared import Compared, TrainedPolicies
from rl_rewriter.benchmark.comparison.config import FOLDS, BenchmarkConfig
from rl_rewriter.benchmark.comparison.fits import Fit, Look, fit_all
from rl_rewriter.benchmark.comparison.searched import Searched, search, values_by_metric
from rl_rewriter.benchmark.comparison.sent import decision_times, rewrites_of
from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.benchmark.headroom import headroom_record, sample_of
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.evaluation.headroom import headroom_of
from rl_rewriter.evaluation.held_out import Choices, HeldOut
from rl_rewriter.evaluation.sample import Sample
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewards.reward import Table
from rl_rewriter.types import OnProgress, Rewrite


def compare_arms(
    bench: Workbench,
    config: BenchmarkConfig,
    *,
    order: Mapping[str, int] | None = None,
    fits_dir: Path | None = None,
    workers: Workers | None = None,
    on_progress: OnProgress | None = None,
) -> Compared:
    """Carry out every action on every query, train policies by fold, and let every arm choose.

    Args:
        bench: What to search, with judged queries.
        config: Settings.
        order: Query id -> place, for the order of cross-validated queries.
        fits_dir: Where trained policies are kept.
        workers: Who trains.
        on_progress: Told how far each stage is.
    """
    searched = search(bench, config, order=order, on_progress=on_progress)
    tasks = fit_tasks(searched, config)
    fits = fit_all(tasks, fits_dir, workers=workers, on_progress=on_progress)
    served = serve_blends(searched, fits)
    chosen = choose(searched, served, fits, config)
    division, rows = searched.division, searched.division.held_out
    outcomes = served.outcomes.subset(rows)
    actions = served.actions_of(division.folds.chosen_for[0], searched.actions)
    first = chosen.choices[POLICY][0] if fits else np.zeros(len(rows), dtype=np.intp)
    return Compared(
        bench=bench,
        protocol=division.protocol,
        outcomes=outcomes,
        actions=actions,
        held_out=HeldOut(
            action_names=actions.names,
            metric=bench.reward.metric.name,
            values=values_by_metric(outcomes, bench.qrels, searched.metrics),
            choices=chosen.choices,
            groups=[division.groups[row] for row in rows],
            seed=config.seed,
        ),
        fold=_fold_numbers(searched),
        n_folds=len(division.folds.chosen_for),
        n_train=_mean_train(searched),
        best_fixed=_most_frequent(chosen.choices[BEST_FIXED], searched.actions),
        policies=_policies(searched, fits, chosen, config) if fits else None,
        rewrites=_rewrites(searched, served, first),
        expected=_expected(searched, len(actions)),
        headroom=_headroom(searched, config.seed),
        notes=_notes(searched, config, fits),
        seconds={"reward_table": searched.seconds, "train": sum(fit.seconds for fit in fits)},
    )


def _rewrites(searched: Searched, served: Served, chosen: Rows) -> tuple[Rewrite, ...]:
    """What the first policy of each fold sends for the queries of its fold."""
    division = searched.division
    sent: dict[int, Rewrite] = {}
    place = {row: number for number, row in enumerate(division.held_out.tolist())}
    for fold in division.folds.chosen_for:
        rows = division.rows(fold)[1].tolist()
        found = rewrites_of(
            [division.queries[row] for row in rows],
            served.actions_of(fold, searched.actions),
            chosen[[place[row] for row in rows]],
            searched.bench.retriever,
            searched.statistics,
            searched.outcomes.features[rows],
        )
        sent.update(zip(rows, found, strict=True))
    return tuple(sent[row] for row in place)


def _expected(searched: Searched, n_actions: int) -> Table:
    """Expected gains of single actions on the held-out queries; NaN for learned blends."""
    single = expected_gains(searched.table, searched.division.folds)[searched.division.held_out]
    blends = np.full((len(single), n_actions - single.shape[1]), np.nan)
    return np.concatenate([single, blends], axis=1)


def _policies(
    searched: Searched, fits: Sequence[Fit], chosen: Chosen, config: BenchmarkConfig
) -> TrainedPolicies:
    queries = [searched.division.queries[row] for row in searched.division.held_out]
    checkpoint = _checkpoint(fits[0], searched)
    return TrainedPolicies(
        seeds=config.policy_seeds,
        evidence=searched.features.needs,
        probability=chosen.probability,
        checkpoint=checkpoint,
        decide_ms=decision_times(queries, checkpoint, searched.bench.retriever),
        looks=looks_of(fits),
    )


def looks_of(fits: Sequence[Fit]) -> tuple[Look, ...]:
    """Metrics of all trainings, with their fold and seed and without what says where from."""
    return tuple(
        {
            "fold": fit.fold,
            "seed": fit.seed,
            **{
                name.rpartition("/")[2]: value
                for name, value in look.items()
                if not _is_drawn(name)
            },
        }
        for fit in fits
        for look in fit.looks
    )


def _is_drawn(name: str) -> bool:
    """The reward of the drawn training actions: "reward" alone means that of validation."""
    return name == "train/reward"


def _fold_numbers(searched: Searched) -> Any:
    """Fold of each held-out query, ``(n,)``, counted from 0."""
    folds = searched.division.folds
    return folds.number[searched.division.held_out] - min(folds.chosen_for)


def _mean_train(searched: Searched) -> int:
    division = searched.division
    sizes = [len(division.rows(fold)[0]) for fold in division.folds.chosen_for]
    return round(sum(sizes) / len(sizes))


def _most_frequent(choices: Choices, actions: ActionSpace) -> str:
    return actions.names[int(np.bincount(choices.ravel()).argmax())]


def _checkpoint(fit: Fit, searched: Searched) -> Checkpoint:
    """A policy as it would be served."""
    learned = [] if fit.blend is None else [fit.blend]
    actions = searched.actions.extended(learned)
    known = ActionSpace(tuple(actions[actions.index(name)] for name in fit.action_names))
    settings = {"settings": {"reward": searched.bench.reward.to_json()}}
    return Checkpoint(fit.policy, known, fit.features, searched.statistics, settings)


def _headroom(searched: Searched, seed: int) -> Mapping[str, Any]:
    """What there is to gain on the held-out queries, with the folds of the comparison."""
    division, bench = searched.division, searched.bench
    held_out = searched.outcomes.subset(division.held_out)
    sample = sample_of(bench, held_out, searched.features, seed=seed)
    if division.protocol == "split":
        rows, _ = division.rows(division.folds.chosen_for[0])
        train = Sample(searched.table.subset(rows), [division.groups[row] for row in rows])
        found = headroom_of(sample, train=train, folds=FOLDS, seed=seed)
    else:
        found = headroom_of(sample, folds=division.folds.n_folds, seed=seed)
    return headroom_record(bench, found)


def _notes(searched: Searched, config: BenchmarkConfig, fits: Sequence[Fit]) -> tuple[str, ...]:
    notes = []
    if config.seeds and not fits:
        notes.append("too few needs or conversations to train a policy on: none was trained")
    own = getattr(searched.bench.retriever, "note", None)  # a retriever of the user's own
    if own is not None:
        notes.append(str(own))
    return tuple(notes)
