"""From pools to a blend: what pays by cross-fitting, fitted once more to all queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.actions.blend_head import BlendHead, TanhNetwork
from rl_rewriter.actions.blend_prior import BlendPrior, shipped_prior
from rl_rewriter.errors import InputError
from rl_rewriter.training.blend.caution import with_caution
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.network import Shifted
from rl_rewriter.training.blend.objective import Batch, Judge
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.blend.trial import BlendTrial, try_rungs
from rl_rewriter.training.ladder.climb import Rung, climb
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.report import report_of
from rl_rewriter.training.ladder.singles import Singles
from rl_rewriter.training.ladder.standing import Standing
from rl_rewriter.training.network import one_thread
from rl_rewriter.types import Matrix

_ALL = 1_000_000
"""Stands for the fold in fits to all queries."""
_CONSTANT = 1e9
_CLIP = 3.0


@dataclass(frozen=True, eq=False)
class BlendFit:
    """What came of learning a blend.

    Attributes:
        stands: What is to be served, and how it compares with what was tried.
        head: Weights of the blend; None where keep or a single action is to be served.
    """

    stands: Standing
    head: BlendHead | None


def fit_blend(
    pools: Pools,
    raw_states: Matrix,
    groups: Sequence[str],
    singles: Singles | None = None,
    config: BlendConfig | None = None,
    *,
    ladder: LadderConfig | None = None,
    prior: BlendPrior | None = None,
) -> BlendFit:
    """Learn how to weigh views, as simply as the queries allow.

    Scores and states are scaled by all queries, which looks at no judgement; all that looks at
    judgements is cross-fitted by group.

    Args:
        pools: Scored candidates of ``n`` judged queries.
        raw_states: Their features, not standardised, ``(n, s)``.
        groups: One name a query; a group is never divided between folds.
        singles: What single actions earn on the same queries. Without it keep is valued on the
            pools and there is no best single action.
        config: Settings.
        ladder: When a blend is taken, and how many queries it may hurt.
        prior: Weights known from elsewhere; what the settings name by default.

    Raises:
        InputError: The arguments don't speak of the same queries, or hold NaN.
        TrainingError: A number stopped being finite.
    """
    config, ladder = config or BlendConfig(), ladder or LadderConfig()
    if prior is None and config.prior == "shipped":
        prior = shipped_prior()
    _check(pools, raw_states, groups, singles)
    started = time.perf_counter()
    with one_thread():
        plain = _plain_head(pools, raw_states, config)
        states = np.clip((raw_states - plain.mean) / plain.spread, -_CLIP, _CLIP)
        judge = Judge(pools, Batch.of(pools, plain.scale, states), config.metric)
        learner = Learner(judge, config, prior.for_views(pools.views) if prior else None)
        folds = group_folds(groups, ladder.folds, config.seed)
        trial = try_rungs(learner, folds, singles, ladder)
        rungs = trial.rungs
        if prior is not None and trial.blends:
            rungs.messages.append("weights start from a prior that other collections taught")
        rung, steps = climb(rungs.values, folds, ladder)
        cautious = with_caution(learner, trial, rung, folds, ladder)
        served, head = cautious.served, None
        if served.rung in trial.blends:
            held = replace(plain, strength=served.strength, gate=cautious.gate)
            head = _fitted_to_all(learner, trial, served.rung, held)
    rungs.seconds["all"] = round(time.perf_counter() - started, 3)
    stands = Standing(
        rung=served.rung,
        single=None if singles is None else singles.best,
        cross_fitted=rungs.values,
        served=served.values,
        is_open=served.is_open,
        report=report_of(
            rungs,
            folds,
            steps,
            served,
            tuned=tuple(name for name, found in trial.blends.items() if found.tuned),
            pull=trial.blends[served.rung].pull if served.rung in trial.blends else 0.0,
        ),
    )
    return BlendFit(stands, head)


def _fitted_to_all(learner: Learner, trial: BlendTrial, rung: Rung, held: BlendHead) -> BlendHead:
    """The kind of blend that stands, fitted to all queries."""
    rows = np.arange(len(learner.judge.pools))
    base = learner.same_for_all(rows, _ALL)
    bias = base.bias
    if trial.blends["same_for_all"].tuned:
        bias = learner.tuned_same(base, rows, _ALL).numpy()
    networks: list[TanhNetwork] = []
    if rung == "by_query":
        chosen = trial.blends[rung]
        for member in range(learner.config.by_query.members):
            model = learner.by_query(base, rows, chosen.pull, _ALL, member)
            model = Shifted.restore(bias, model.numpy())
            if chosen.tuned:
                model = learner.tuned_by_query(model, rows, _ALL, member)
            networks.append(model.numpy())
    return replace(held, bias=bias, networks=tuple(networks))


def _plain_head(pools: Pools, raw: Matrix, config: BlendConfig) -> BlendHead:
    """What scales scores and states; columns that never vary are left out by a huge deviation."""
    columns = raw.astype(np.float64)
    spread = columns.std(axis=0)
    spread = np.where(spread > 1e-6, spread, _CONSTANT)
    return BlendHead(
        pools.views,
        bias=np.zeros(len(pools.views), dtype=np.float32),
        scale=pools.scales(),
        mean=columns.mean(axis=0).astype(np.float32),
        spread=spread.astype(np.float32),
        sigma=config.fine_tune.sigma,
    )


def _check(
    pools: Pools, raw_states: Matrix, groups: Sequence[str], singles: Singles | None
) -> None:
    n = len(pools)
    if not n:
        raise InputError("a blend needs at least one judged query, got none")
    if raw_states.ndim != 2 or len(raw_states) != n or len(groups) != n:
        raise InputError(
            f"a blend of {n} queries needs as many states and groups, got {len(raw_states)} "
            f"and {len(groups)}"
        )
    if singles is not None and (singles.net.ndim != 2 or len(singles.net) != n):
        raise InputError(f"values of single actions must have {n} rows, got {singles.net.shape}")
    if not all(bool(np.isfinite(numbers).all()) for numbers in (pools.scores, raw_states)):
        raise InputError("scores and states of a blend must be finite; some are not")
