"""Tries every rung of the ladder, blends among them, on queries that it wasn't fitted on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from rl_rewriter.training.blend.crossfit import (
    CrossFitted,
    SameFits,
    cross_fit_by_query,
    cross_fit_same_for_all,
)
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.ladder.climb import Rung
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import hurt_share
from rl_rewriter.training.ladder.singles import Singles, try_singles
from rl_rewriter.training.ladder.trial import Trial


@dataclass(frozen=True, eq=False)
class BlendTrial:
    """What rungs are worth, and the blends of those that are blends.

    Attributes:
        rungs: All that was tried.
        blends: Blends with their weights, by rung; their values lack what serving one costs.
    """

    rungs: Trial
    blends: dict[Rung, CrossFitted] = field(default_factory=dict)

    def add(self, rung: Rung, found: CrossFitted, price: float) -> None:
        """A blend, and what serving it costs."""
        self.blends[rung] = found
        hurt = hurt_share(found.values, self.rungs.values["keep"])
        self.rungs.add(rung, found.values - price, hurt)


def try_rungs(
    learner: Learner, folds: GroupFolds, singles: Singles | None, config: LadderConfig
) -> BlendTrial:
    """Cross-fit what there are enough queries for.

    Args:
        learner: Fits blends.
        folds: The division.
        singles: What single actions earn; None for none.
        config: Settings of the ladder.
    """
    n, n_views = learner.judge.pools.present.shape
    if singles is None:
        singles = Singles.at_no_price(learner.judge.keep(np.arange(n))[:, None])
    trial = BlendTrial(try_singles(singles, folds, config, learner.config.seed))
    if folds.n_groups < 2:
        return trial
    if n_views < 2:
        trial.rungs.messages.append("this retriever has no view beside the query; nothing to blend")
        return trial
    listwise = learner.config.listwise
    counted = listwise.prior_queries if learner.prior is not None else 0.0
    if n + counted < listwise.min_queries:
        trial.rungs.messages.append(
            f"too few queries: a blend takes at least {listwise.min_queries}, got {n}"
        )
        return trial
    started = time.perf_counter()
    same = cross_fit_same_for_all(learner, folds)
    trial.add("same_for_all", same.found, learner.config.price)
    trial.rungs.seconds["same_for_all"] = round(time.perf_counter() - started, 3)
    if learner.config.fine_tune.steps:
        trial.rungs.messages.append(_on_tuning(same))
    _try_by_query(learner, folds, same, trial)
    return trial


def _try_by_query(learner: Learner, folds: GroupFolds, same: SameFits, trial: BlendTrial) -> None:
    config = learner.config.by_query
    n = len(learner.judge.pools)
    if n < config.min_queries:
        trial.rungs.messages.append(
            f"too few queries: weights by query take at least {config.min_queries}, got {n}"
        )
        return
    if not config.pulls or not bool(learner.judge.everything.states.any()):
        trial.rungs.messages.append("no weights by query: all queries have the same state")
        return
    started = time.perf_counter()
    found = cross_fit_by_query(learner, folds, same)
    trial.add("by_query", found, learner.config.price)
    trial.rungs.seconds["by_query"] = round(time.perf_counter() - started, 3)


def _on_tuning(same: SameFits) -> str:
    verb = "kept" if same.found.tuned else "not kept"
    return (
        f"tuning the weights for all on the metric was {verb}: {same.tuned:.4f} with it, "
        f"{same.untuned:.4f} without"
    )
