"""What there is to gain from choosing actions, before anyone trains a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.choices import (
    Choices,
    Problem,
    fixed_choices,
    learned_choices,
    needs_the_state,
)
from rl_rewriter.evaluation.contenders import Contenders, KindFigures
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.evaluation.noise import Correction, corrected_best
from rl_rewriter.evaluation.sample import Sample, choice_problem
from rl_rewriter.evaluation.selection import chosen_action_test
from rl_rewriter.evaluation.significance import bootstrap_interval
from rl_rewriter.evaluation.verdict import (
    LEVEL,
    TOO_FEW,
    Signs,
    Verdict,
    is_better,
    needed_to_tell,
    smallest_gain,
    verdict_of,
)


@dataclass(frozen=True)
class Headroom:
    """The room between doing nothing and doing the best for each query.

    Attributes:
        n_queries: Queries that the figures are about.
        n_groups: Groups that they belong to.
        keep: Mean metric of keep.
        actions: Mean metric of every action.
        best_action: The action that is best on most folds' training queries.
        best_fixed: Mean metric of the action chosen on each fold's training queries.
        best_fixed_ci95: Interval of ``best_fixed``.
        oracle: Mean of the per-query best: biased upward by noise.
        oracle_corrected: The same without what it owes to chance: a low estimate, but no lower
            than what is reached without hindsight.
        oracle_correction: How that was estimated (see :mod:`rl_rewriter.evaluation.noise`).
        predicted: Mean metric of the action that a cross-validated ridge regression on the state
            expects most from; None where there are too few queries.
        predicted_ci95: Interval of ``predicted - best_fixed``.
        predictable: Part of the gap from best_fixed to oracle that this captures; may be negative.
            None where there are too few queries, or no gap worth having.
        differ_share: Queries on which not all actions score the same.
        by_kind: Where the room is.
        queries_needed: Queries that it would take to see what one action gains, where it can't be
            seen in these; None where it can, or where even hindsight gains nothing worth having.
        verdict: What follows.
    """

    n_queries: int
    n_groups: int
    keep: float
    actions: Mapping[str, float]
    best_action: str
    best_fixed: float
    best_fixed_ci95: tuple[float, float]
    oracle: float
    oracle_corrected: float
    oracle_correction: Correction
    predicted: float | None
    predicted_ci95: tuple[float, float] | None
    predictable: float | None
    differ_share: float
    by_kind: Mapping[str, KindFigures]
    queries_needed: int | None
    verdict: Verdict


def headroom(
    table: RewardTable,
    *,
    groups: Sequence[str] | None = None,
    train: RewardTable | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Headroom:
    """Measure the room there is from outcomes alone: see :func:`headroom_of`."""
    separate = None if train is None else Sample(train)
    return headroom_of(Sample(table, groups), train=separate, folds=folds, seed=seed)


def headroom_of(
    sample: Sample, *, train: Sample | None = None, folds: int = 5, seed: int = 0
) -> Headroom:
    """Measure the room there is.

    Args:
        sample: The queries that the figures are about.
        train: Separate training queries, which the single action and the regression are then taken
            from; without them ``sample`` is cross-validated.
        folds: Folds of the cross-validation.
        seed: Seed of folds, tests and intervals.

    Raises:
        InputError: There are fewer than two folds, or the two samples don't fit together.
        MissingExtraError: scipy isn't installed.
    """
    chosen = _choose(sample, train, folds, seed)
    found = chosen.contenders
    corrected, correction = corrected_best(sample.table.values, chosen.fixed, sample.halves)
    corrected = min(max(corrected, found.reached), float(found.oracle.mean()))
    signs = _signs(sample, chosen, corrected, seed)
    verdict = verdict_of(signs)
    means = [float(column.mean()) for column in sample.table.values.T]
    return Headroom(
        n_queries=len(sample),
        n_groups=sample.n_groups,
        keep=means[0],
        actions=dict(zip(sample.table.action_names, means, strict=True)),
        best_action=sample.table.action_names[chosen.best],
        best_fixed=float(found.fixed.mean()),
        best_fixed_ci95=bootstrap_interval(found.fixed, groups=sample.groups, seed=seed),
        oracle=float(found.oracle.mean()),
        oracle_corrected=corrected,
        oracle_correction=correction,
        predicted=None if found.predicted is None else float(found.predicted.mean()),
        predicted_ci95=None
        if found.predicted is None
        else bootstrap_interval(found.predicted - found.fixed, groups=sample.groups, seed=seed),
        predictable=found.captured(signs.smallest),
        differ_share=float(found.differs.mean()),
        by_kind=found.by_kind(sample.kinds),
        queries_needed=_needed(sample, found, signs, verdict),
        verdict=verdict,
    )


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Choices for the queries of a sample, made without them.

    Attributes:
        problem: What they were learned from.
        choices: Those of the single action and of the regression; None with too few queries.
        fixed: The single action of each query of the sample, ``(n,)``.
        best: The action that this is for most of them.
        is_separate: Whether other queries than the sample's were learned from.
        contenders: What the choices reach.
    """

    problem: Problem
    choices: Choices | None
    fixed: Rows
    best: int
    is_separate: bool
    contenders: Contenders


def _choose(sample: Sample, train: Sample | None, folds: int, seed: int) -> _Chosen:
    problem, rows = choice_problem(sample, train, folds, seed)
    is_enough = min(s.n_groups for s in (sample, train) if s is not None) >= TOO_FEW
    choices = learned_choices(problem) if is_enough else None
    fixed = (fixed_choices(problem) if choices is None else choices.fixed)[rows]
    predicted = None if choices is None else choices.predicted[rows]
    return _Chosen(
        problem=problem,
        choices=choices,
        fixed=fixed,
        best=int(np.bincount(fixed).argmax()),
        is_separate=train is not None,
        contenders=Contenders.of(sample.table.values, fixed, predicted),
    )


def _signs(sample: Sample, chosen: _Chosen, corrected: float, seed: int) -> Signs:
    found, smallest = chosen.contenders, smallest_gain(sample.table.values)
    return Signs(
        n_groups=sample.n_groups,
        differs=bool(found.differs.any()),
        hindsight=float((found.oracle - found.keep).mean()),
        hope=corrected - float(found.keep.mean()),
        smallest=smallest,
        fixed_gains=_is_fixed_better(sample, chosen, smallest, seed),
        choosing_gains=_is_choosing_better(sample, chosen, smallest, seed),
    )


def _is_fixed_better(sample: Sample, chosen: _Chosen, smallest: float, seed: int) -> bool:
    """Whether the single action is better than keep, as one that was chosen among many."""
    gains = chosen.contenders.fixed - chosen.contenders.keep
    if chosen.is_separate or gains.mean() < smallest:
        return is_better(gains, smallest, sample.groups)
    values = sample.table.values
    p_value = chosen_action_test(
        values - values[:, :1], chosen.best, groups=sample.groups, seed=seed
    )
    return p_value <= LEVEL / 2


def _is_choosing_better(sample: Sample, chosen: _Chosen, smallest: float, seed: int) -> bool:
    """Whether the regression is better than keep and the single action, and not by luck."""
    found = chosen.contenders
    if chosen.choices is None or found.predicted is None:
        return False
    return (
        is_better(found.predicted - found.fixed, smallest, sample.groups)
        and is_better(found.predicted - found.keep, smallest, sample.groups)
        and needs_the_state(chosen.problem, chosen.choices, seed=seed, level=LEVEL)
    )


def _needed(sample: Sample, found: Contenders, signs: Signs, verdict: Verdict) -> int | None:
    """Queries needed, where a gain may be hidden in these."""
    is_undecided = verdict in ("too_small", "nothing_to_learn")
    if not is_undecided or signs.hindsight < signs.smallest:
        return None
    values = sample.table.values
    reached = float((found.fixed - found.keep).mean())
    return needed_to_tell(values - values[:, :1], reached, signs.smallest, sample.groups)
