"""What there is to gain from choosing actions, before anyone trains a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.significance import Values, bootstrap_interval

Verdict = Literal["nothing_to_learn", "one_action_is_enough", "worth_learning", "too_small"]

TOO_FEW = 30
"""Below this number of queries nothing can be said about choosing by query."""
NEGLIGIBLE = 0.005
"""Gains below this part of the metric's range are nothing."""
_RIDGE = 30.0
_SIMULATIONS = 200


@dataclass(frozen=True)
class Headroom:
    """The room between doing nothing and doing the best for each query.

    Attributes:
        n_queries: Queries that the figures are about.
        keep: Mean metric of keep.
        actions: Mean metric of every action.
        best_action: The action that is best on most folds' training queries.
        best_fixed: Mean metric of the action chosen on each fold's training queries.
        best_fixed_ci95: Interval of ``best_fixed``.
        oracle: Mean of the per-query best: biased upward by noise.
        oracle_corrected: The same without what equal actions would give (see :func:`noise_gain`):
            a low estimate, but no lower than what is reached without hindsight.
        predicted: Mean metric of the action that a cross-validated ridge regression on the state
            expects most from; None where there are too few queries.
        predictable: Part of the gap from best_fixed to oracle that this captures; may be negative.
        differ_share: Queries on which not all actions score the same.
        verdict: What follows.
    """

    n_queries: int
    keep: float
    actions: Mapping[str, float]
    best_action: str
    best_fixed: float
    best_fixed_ci95: tuple[float, float]
    oracle: float
    oracle_corrected: float
    predicted: float | None
    predictable: float | None
    differ_share: float
    verdict: Verdict


def headroom(
    table: RewardTable,
    *,
    groups: Sequence[str] | None = None,
    train: RewardTable | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Headroom:
    """Measure the room there is.

    Args:
        table: Outcome of every action on the queries that the figures are about.
        groups: One name a query; a group is never divided between folds.
        train: Outcomes on separate training queries, which the single action and the regression
            are then taken from; without them ``table`` is cross-validated.
        folds: Folds of the cross-validation.
        seed: Seed of folds, simulations and intervals.

    Raises:
        InputError: There are fewer than two folds.
    """
    if folds < 2:
        raise InputError(f"at least two folds are needed to cross-validate, got {folds}")
    values = table.values
    fixed_actions, predicted_actions = _choices(table, groups, train, folds, seed)
    rows = np.arange(len(table))
    fixed = values[rows, fixed_actions]
    predicted = values[rows, predicted_actions] if predicted_actions is not None else None
    keep, oracle = values[:, 0], values.max(axis=1)
    reached = [keep, fixed] if predicted is None else [keep, fixed, predicted]
    corrected = float(oracle.mean()) - noise_gain(values, seed=seed)
    corrected = max(corrected, *(float(contender.mean()) for contender in reached))
    gap = float(oracle.mean() - fixed.mean())
    share = None
    if predicted is not None and gap > 0:
        share = float(predicted.mean() - fixed.mean()) / gap
    differ = float((np.ptp(values, axis=1) > 1e-9).mean())
    best = int(np.bincount(fixed_actions, minlength=values.shape[1]).argmax())
    return Headroom(
        n_queries=len(table),
        keep=float(keep.mean()),
        actions=dict(zip(table.action_names, map(float, values.mean(axis=0)), strict=True)),
        best_action=table.action_names[best],
        best_fixed=float(fixed.mean()),
        best_fixed_ci95=bootstrap_interval(fixed, groups=groups, seed=seed),
        oracle=float(oracle.mean()),
        oracle_corrected=corrected,
        predicted=float(predicted.mean()) if predicted is not None else None,
        predictable=share,
        differ_share=differ,
        verdict=_verdict(keep, fixed, predicted, oracle, corrected, groups, seed),
    )


def noise_gain(values: npt.NDArray[np.float64], *, seed: int = 0) -> float:
    """What chance alone would hand to the per-query best.

    Gains over keep, less their mean for each action, are taken as pure noise: a fair coin turns the
    sign of all gains of a query together, which keeps their spread and their correlation. The mean
    of the best positive gain under these coins is what chance alone hands to the per-query best.
    It is an upper bound of the noise, since real differences between queries are in the spread too.

    Args:
        values: Metric of every action on every query, ``(n, m)``, keep first.
        seed: Seed of the coins.
    """
    gains = values - values[:, :1]
    spread = gains - gains.mean(axis=0, keepdims=True)
    spread[:, 0] = 0.0
    up, down = spread.max(axis=1), (-spread).max(axis=1)
    coins = np.random.default_rng(seed).random((_SIMULATIONS, len(values))) < 0.5
    return float(np.where(coins, up, down).mean())


def _choices(
    table: RewardTable,
    groups: Sequence[str] | None,
    train: RewardTable | None,
    folds: int,
    seed: int,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp] | None]:
    """For each query, the single action and the predicted one, learned without that query."""
    if train is not None:
        fixed = np.full(len(table), int(train.values.mean(axis=0).argmax()))
        return fixed, _predict(train, table) if len(train) >= TOO_FEW else None
    fold = _folds(groups or table.query_ids, folds, seed)
    fixed = np.zeros(len(table), dtype=np.intp)
    predicted = np.zeros(len(table), dtype=np.intp)
    for number in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if not len(outside):
            continue
        learn = table.subset(outside)
        fixed[inside] = int(learn.values.mean(axis=0).argmax())
        predicted[inside] = _predict(learn, table.subset(inside))
    return fixed, predicted if len(table) >= TOO_FEW else None


def _predict(learn: RewardTable, apply: RewardTable) -> npt.NDArray[np.intp]:
    """Ridge regression of every action's gain on the state; the action expected to gain most."""
    design = np.column_stack([np.ones(len(learn)), learn.states]).astype(np.float64)
    penalty = _RIDGE * np.eye(design.shape[1])
    penalty[0, 0] = 1e-6
    gains = learn.values - learn.values[:, :1]
    weights = np.linalg.solve(design.T @ design + penalty, design.T @ gains)
    expected = np.column_stack([np.ones(len(apply)), apply.states]) @ weights
    return np.asarray(np.where(apply.mask, expected, -np.inf).argmax(axis=1))


def _folds(groups: Sequence[str], folds: int, seed: int) -> npt.NDArray[np.intp]:
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    number = {names[i]: rank % folds for rank, i in enumerate(order)}
    return np.asarray([number[group] for group in groups], dtype=np.intp)


def _verdict(
    keep: Values,
    fixed: Values,
    predicted: Values | None,
    oracle: Values,
    corrected: float,
    groups: Sequence[str] | None,
    seed: int,
) -> Verdict:
    smallest = NEGLIGIBLE * max(1.0, float(np.abs(keep).max()))
    if float((oracle - keep).mean()) < smallest:
        return "nothing_to_learn"
    if predicted is None:
        return "too_small"

    def above(system: Values, baseline: Values) -> bool:
        gain = system - baseline
        return gain.mean() >= smallest and bootstrap_interval(gain, groups=groups, seed=seed)[0] > 0

    if above(predicted, fixed) and above(predicted, keep):
        return "worth_learning"
    if above(fixed, keep):
        return "one_action_is_enough"
    # The corrected ceiling is a low estimate: it can't outvote a gain that is seen, only a hope.
    is_hope = corrected - float(keep.mean()) >= smallest
    return "too_small" if is_hope and len(keep) < 3 * TOO_FEW else "nothing_to_learn"
