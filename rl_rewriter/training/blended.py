"""A fit that earns its complexity: keep, the best single action, a policy by query, or a blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.views import View, look, views_for
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.protocols import Values
from rl_rewriter.policies.starting import mostly_policy
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.blend.build import build_pools
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.folds import group_folds
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.blend.report import BlendReport
from rl_rewriter.training.choice import Choice, learn_choice
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.loop import OnLook, Outcome, greedy
from rl_rewriter.training.on_rows import FittedOnRows, fit_on_rows, training_rows
from rl_rewriter.types import Needs, OnProgress, Qrels, Query, TermStatistics

if TYPE_CHECKING:
    from rl_rewriter.training.blend.fit import BlendFit

CLEAR = 2.0
"""Standard errors on the validation queries above which a policy by query is taken over keep or a
single action."""
CLEAR_OVER_BLEND = 3.0
"""The same over a blend: the policy was chosen on these queries, and the blend was not."""


@dataclass(frozen=True, eq=False)
class BlendedFit:
    """What came of a fit on all rows of a table.

    Attributes:
        fitted: Features, table and policy; with a blend, its column stands last in the table, with
            cross-fitted values of what is served, as it is held back.
        blend: The learned action; None where something simpler stands.
        report: How what was tried compares.
        is_policy: Whether the policy was trained by REINFORCE on part of the queries; else it takes
            what stands, or chooses around it, and was fitted to all of them.
    """

    fitted: FittedOnRows
    blend: LearnedBlend | None
    report: BlendReport
    is_policy: bool


def single_actions(space: ActionSpace, config: FitConfig) -> ActionSpace:
    """The actions beside which a blend is learned; one that was learned before is left out.

    Raises:
        InputError: Another action has the blend's name.
    """
    if config.blend is None:
        return space
    own = tuple(action for action in space if not isinstance(action, LearnedBlend))
    if any(action.name == BLEND for action in own):
        raise InputError(
            f"{BLEND!r} is the name of the learned blend: give your action another name, or learn "
            "none with FitConfig(blend=None)"
        )
    return ActionSpace(own)


def pools_of(
    queries: Sequence[Query],
    retriever: Retriever,
    statistics: TermStatistics,
    qrels: Qrels,
    config: FitConfig,
) -> Pools | None:
    """What blends are trained on; None where this retriever can't search any.

    Args:
        queries: Judged queries, with ids.
        retriever: Where to search.
        statistics: Term weights of the collection.
        qrels: Judgements by query id.
        config: Settings.

    Raises:
        CollectionError: The collection cannot be searched.
    """
    views = views_for(retriever.offers)
    if config.blend is None or not views:
        return None
    if Needs.VECTOR not in retriever.offers and not config.blend.texts:
        return None
    evidence = gather(queries, retriever, statistics, _needs(views))
    seen = [look(item, views) for item in evidence]
    possible = np.any([item.present for item in seen], axis=0)
    views = tuple(view for view, can in zip(views, possible, strict=True) if can)
    if len(views) < 2:
        return None
    seen = [look(item, views) for item in evidence]
    return build_pools(evidence, seen, views, retriever, qrels, config.blend.pools)


def _needs(views: Sequence[View]) -> Needs:
    return reduce(or_, (view.needs for view in views), Needs.VECTOR | Needs.HISTORY_VECTORS)


def fit_blended(
    table: RewardTable,
    features: FeatureSet,
    pools: Pools,
    groups: Sequence[str],
    config: FitConfig,
    *,
    on_progress: OnProgress = lambda stage, done, total: None,
    metrics_dir: Path | None = None,
    on_look: OnLook = lambda update, metrics: None,
) -> BlendedFit:
    """Climb as far as cross-fitted gains are clear.

    What stands is served, unless a choice by query among all actions, the blend among them, is
    clearly better on queries that it hasn't seen: a linear one around what stands, by
    cross-fitting, or else a network trained by REINFORCE, on validation queries.

    Args:
        table: Outcomes of single actions, with raw states.
        features: What the states are made of, not fitted.
        pools: Scored candidates of the same queries.
        groups: One name a query.
        config: Settings, a blend's among them.
        on_progress: Told the number of updates done.
        metrics_dir: Where metrics of training a policy are written; nowhere by default.
        on_look: Told what each look at the validation queries found.

    Raises:
        InputError: There are fewer than two groups.
        TrainingError: A number stopped being finite.
    """
    from rl_rewriter.training.blend.fit import fit_blend

    pools = pools.of_present_views()  # nothing is learned about views that none of these has
    settings = _settings(pools, config)
    net = table.values[:, :1] + table.rewards  # values less prices
    on_progress("learning a blend", 0, 1)
    found = fit_blend(pools, table.states, groups, net, settings)
    on_progress("learning a blend", 1, 1)
    head, blend = found.head, None
    if head is not None:
        blend = LearnedBlend(head)
        prices = np.where(found.is_open, settings.price, 0.0)
        values = np.asarray(found.served, dtype=np.float64) + prices
        table = with_column(table, blend.name, values, prices)
    rows = training_rows(list(groups), config)
    fitted = features.fitted_on(table.states, table.weights)
    scaled = replace(table, states=fitted.standardised(table.states))
    folds = group_folds(groups, settings.ladder.folds, settings.seed)
    choice = learn_choice(scaled, _standing(found, table), folds)
    is_clear, told = _is_taken(choice, table, found, config)
    report = replace(found.report, messages=(*found.report.messages, told))
    if is_clear:
        outcome = _chosen(choice, found)
        return BlendedFit(FittedOnRows(fitted, scaled, outcome), blend, report, is_policy=False)
    learned = fit_on_rows(
        table,
        features,
        rows,
        config,
        on_progress=on_progress,
        metrics_dir=metrics_dir,
        on_look=on_look,
    )
    is_clear, told = _compared(learned, learned.table.subset(rows[1]), found, config)
    report = replace(report, messages=(*report.messages, told))
    if is_clear:
        return BlendedFit(learned, blend, report, is_policy=True)
    outcome = _constant(table, _standing(found, table), found, config)
    return BlendedFit(FittedOnRows(fitted, scaled, outcome), blend, report, is_policy=False)


def _settings(pools: Pools, config: FitConfig) -> BlendConfig:
    """A blend's settings, with the metric, the seed and the prices of the whole fit."""
    assert config.blend is not None  # whoever has pools has settings
    return replace(
        config.blend,
        metric=config.reward.metric,
        seed=config.reinforce.seed,
        price=config.blend.price + _price(pools, config.reward),
    )


def _price(pools: Pools, reward: RewardConfig) -> float:
    """What a blend costs on a query by the reward's prices: a search, and one of BM25 for words.

    Parts of the conversation that are embedded for it aren't counted, as in the effort of its
    rewrites.
    """
    effort = (1, 1 + int(pools.is_lexical.any()), 0, 0)
    return float(reward.prices(np.asarray(effort, dtype=np.int16)))


def _standing(found: BlendFit, table: RewardTable) -> int:
    """Column of what stands; a blend's is the last."""
    if found.head is not None:
        return len(table.action_names) - 1
    return (found.single or 0) if found.rung == "single" else 0


def _compared(
    learned: FittedOnRows, held_out: RewardTable, found: BlendFit, config: FitConfig
) -> tuple[bool, str]:
    """Whether the policy that chooses by query is clearly better than what stands, and in words."""
    from rl_rewriter.training.blend.caution import holds, hurt_share

    chosen = greedy(learned.outcome.policy, held_out, held_out.rewards)
    gain = chosen - held_out.rewards[:, _standing(found, held_out)]
    error = float(gain.std(ddof=1)) / len(gain) ** 0.5 if len(gain) > 1 else np.inf
    needed = CLEAR if found.head is None else CLEAR_OVER_BLEND
    is_clear = bool(gain.mean() > needed * error and gain.mean() > 0)
    limit = config.blend.hurt_limit if config.blend is not None else None
    hurt = hurt_share(chosen, held_out.rewards[:, 0])
    is_clear = is_clear and holds(hurt, len(gain), limit)
    told = (
        f"a policy that chooses actions by query {'taken' if is_clear else 'not taken'} over "
        f"{found.rung.replace('_', ' ')}: {gain.mean():+.4f} on {len(gain)} validation queries "
        f"with a standard error of {error:.4f}, {needed:g} of which it has to be above"
    )
    return is_clear, told


def _is_taken(
    choice: Choice, table: RewardTable, found: BlendFit, config: FitConfig
) -> tuple[bool, str]:
    """Whether a linear choice is clearly better than what stands, and in words."""
    from rl_rewriter.training.blend.caution import holds, hurt_share

    limit = config.blend.hurt_limit if config.blend is not None else None
    hurt = hurt_share(choice.values, np.zeros(len(table)))
    is_clear = choice.is_clear and holds(hurt, len(table), limit)
    told = (
        f"a choice by query around it {'taken' if is_clear else 'not taken'} over "
        f"{found.rung.replace('_', ' ')}: {choice.gain:+.4f} with a standard error of "
        f"{choice.standard_error:.4f}, {choice.needed:g} of which it has to be above"
    )
    return is_clear, told


def _chosen(choice: Choice, found: BlendFit) -> Outcome:
    """The linear policy around what stands, and what it is worth by cross-fitting."""
    values = found.report.values
    validation = {
        "keep": values["keep"],
        "best_fixed": values.get("single", values["keep"]),
        "policy": values["keep"] + float(choice.values.mean()),
    }
    return Outcome(policy=choice.policy, update=0, kl=0.0, validation=validation)


def _constant(table: RewardTable, index: int, found: BlendFit, config: FitConfig) -> Outcome:
    """The policy that mostly takes what stands."""
    n_features, n_actions = table.states.shape[1], len(table.action_names)
    values = found.report.values
    return Outcome(
        policy=mostly_policy(index, n_features, n_actions, config.reference_probability),
        update=0,
        kl=0.0,
        validation={
            "keep": values["keep"],
            "best_fixed": values.get("single", values["keep"]),
            "policy": found.report.served_value,
        },
    )


def with_column(
    table: RewardTable, name: str, values: Values, prices: Values | None = None
) -> RewardTable:
    """A table with one more action, possible everywhere, at its end.

    Args:
        table: The table.
        name: Of the action.
        values: Its metric on every query, ``(n,)``.
        prices: What it costs on each of them, ``(n,)``; nothing by default.
    """
    column = values[:, None]
    gains = column - table.values[:, :1] - (0.0 if prices is None else prices[:, None])
    return replace(
        table,
        action_names=(*table.action_names, name),
        mask=np.concatenate([table.mask, np.ones_like(table.mask[:, :1])], axis=1),
        values=np.concatenate([table.values, column], axis=1),
        rewards=np.concatenate([table.rewards, gains], axis=1),
    )
