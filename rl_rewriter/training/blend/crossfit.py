"""What each kind of blend is worth on queries that it wasn't fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.listwise import Base
from rl_rewriter.training.blend.network import SameForAll, Shifted
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.types import Matrix


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """A kind of blend, fitted for each fold on all others.

    Attributes:
        weights: What each query is searched by, ``(n, v)``.
        values: What that is worth, ``(n,)``.
        tuned: Whether it is tuned on the metric.
        pull: What its networks were pulled to the same weights with; 0 without networks.
    """

    weights: Matrix
    values: Values
    tuned: bool = False
    pull: float = 0.0


@dataclass(frozen=True, eq=False)
class SameFits:
    """Weights that are the same for all, one set a fold.

    Attributes:
        bases: Fitted to whole rankings.
        served: What stands: those, or what became of them by tuning.
        found: What that is worth.
        untuned: Mean value without tuning.
        tuned: Mean value with it.
    """

    bases: tuple[Base, ...]
    served: tuple[Base, ...]
    found: CrossFitted
    untuned: float
    tuned: float


def cross_fit_same_for_all(learner: Learner, folds: GroupFolds) -> SameFits:
    """Fit the weights that are the same for all, and tune them where that isn't worse."""
    parts = list(folds.parts())
    bases = tuple(learner.same_for_all(rows, fold) for fold, (rows, _) in enumerate(parts))
    found = _valued(learner, folds, [SameForAll(base.bias) for base in bases])
    untuned = float(found.values.mean())
    if not learner.config.fine_tune.steps:
        return SameFits(bases, bases, found, untuned, untuned)
    models = [
        learner.tuned_same(base, rows, fold)
        for fold, (base, (rows, _)) in enumerate(zip(bases, parts, strict=True))
    ]
    tuned = _valued(learner, folds, models)
    served = bases
    if tuned.values.mean() >= untuned:
        found = replace(tuned, tuned=True)
        served = tuple(
            replace(base, bias=model.numpy()) for base, model in zip(bases, models, strict=True)
        )
    return SameFits(bases, served, found, untuned, float(tuned.values.mean()))


def cross_fit_by_query(learner: Learner, folds: GroupFolds, same: SameFits) -> CrossFitted:
    """Fit networks with each pull, keep the pull that is best, tune where that isn't worse.

    Networks are fitted around the untuned weights, whose loss they share, and then shift the ones
    that stand.
    """
    parts = list(folds.parts())

    def shifted(pull: float) -> list[Shifted]:
        models = []
        for fold, (rows, _) in enumerate(parts):
            model = learner.by_query(same.bases[fold], rows, pull, fold)
            models.append(Shifted.restore(same.served[fold].bias, model.numpy()))
        return models

    candidates = []
    for pull in learner.config.by_query.pulls:
        models = shifted(pull)
        candidates.append((replace(_valued(learner, folds, models), pull=pull), models))
    best, models = max(candidates, key=lambda candidate: float(candidate[0].values.mean()))
    if not learner.config.fine_tune.steps or best.values.mean() <= same.found.values.mean():
        return best
    tuned_models = [
        learner.tuned_by_query(model, rows, fold)
        for fold, (model, (rows, _)) in enumerate(zip(models, parts, strict=True))
    ]
    tuned = replace(_valued(learner, folds, tuned_models), pull=best.pull, tuned=True)
    return tuned if tuned.values.mean() >= best.values.mean() else best


def _valued(
    learner: Learner, folds: GroupFolds, models: Sequence[SameForAll | Shifted]
) -> CrossFitted:
    n, n_views = learner.judge.pools.present.shape
    weights = np.zeros((n, n_views), dtype=np.float32)
    for model, (_, held_out) in zip(models, folds.parts(), strict=True):
        weights[held_out] = learner.weights(model, held_out)
    return CrossFitted(weights, learner.judge.values(np.arange(n), weights))
