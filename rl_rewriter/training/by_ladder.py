"""A fit that earns its complexity: keep, the best single action, a policy by query, or a blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.choice import learn_choice
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.report import LadderReport
from rl_rewriter.training.ladder.singles import Singles, fit_singles
from rl_rewriter.training.ladder.standing import Standing
from rl_rewriter.training.loop import OnLook
from rl_rewriter.training.on_rows import FittedOnRows, fit_on_rows, training_rows
from rl_rewriter.training.standing import (
    FEWEST_GROUPS,
    choice_is_taken,
    chosen_outcome,
    policy_is_taken,
    standing_column,
    standing_outcome,
    with_choice,
    with_policy,
)
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, eq=False)
class LadderFit:
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
    report: LadderReport
    is_policy: bool


def fit_by_ladder(
    table: RewardTable,
    features: FeatureSet,
    pools: Pools | None,
    groups: Sequence[str],
    config: FitConfig,
    *,
    on_progress: OnProgress = lambda stage, done, total: None,
    metrics_dir: Path | None = None,
    on_look: OnLook = lambda update, metrics: None,
) -> LadderFit:
    """Climb as far as cross-fitted gains are clear.

    What stands is served, unless a choice by query among all actions, the blend among them, is
    clearly better on queries that it hasn't seen: a linear one around what stands, by
    cross-fitting, or else a network trained by REINFORCE, on validation queries.

    Args:
        table: Outcomes of single actions, with raw states.
        features: What the states are made of, not fitted.
        pools: Scored candidates of the same queries; None where no blend can be searched, so that
            the ladder is one of keep and the best single action.
        groups: One name a query.
        config: Settings; where it names no ladder or no blend, theirs are the default ones.
        on_progress: Told the number of updates done.
        metrics_dir: Where metrics of training a policy are written; nowhere by default.
        on_look: Told what each look at the validation queries found.

    Raises:
        InputError: There are fewer than two groups.
        TrainingError: A number stopped being finite.
    """
    if pools is not None:
        pools = pools.of_present_views()  # nothing is learned about views that none of these has
    ladder, settings = config.ladder or LadderConfig(), _blend_settings(pools, config)
    found, head = _climbed(table, pools, groups, ladder, settings, on_progress)
    blend = None
    if head is not None:
        blend = LearnedBlend(head)
        prices = np.where(found.is_open, settings.price, 0.0)
        values = np.asarray(found.served, dtype=np.float64) + prices
        table = with_column(table, blend.name, values, prices)
    rows = training_rows(list(groups), config)
    fitted = features.fitted_on(table.states, table.weights)
    scaled = replace(table, states=fitted.standardised(table.states))
    column = standing_column(found, table)
    outcome = standing_outcome(table, column, found, config)
    stands = LadderFit(FittedOnRows(fitted, scaled, outcome), blend, found.report, is_policy=False)
    folds = group_folds(groups, ladder.folds, settings.seed)
    if folds.n_groups < FEWEST_GROUPS:
        return _told(stands, f"too few queries: a choice by query takes {FEWEST_GROUPS} groups")
    choice = learn_choice(scaled, column, folds, ladder.hurt_limit)
    is_clear, told = choice_is_taken(choice, folds, found, ladder.hurt_limit)
    stands = _told(stands, told)
    if is_clear:
        outcome = chosen_outcome(choice, found)
        return replace(
            stands,
            fitted=FittedOnRows(fitted, scaled, outcome),
            report=with_choice(stands.report, choice, found, column, ladder.hurt_limit),
        )
    if ladder.hurt_limit is not None:
        return _told(stands, "no other policy was trained: nothing would hold it to the limit")
    learned = fit_on_rows(
        table,
        features,
        rows,
        config,
        on_progress=on_progress,
        metrics_dir=metrics_dir,
        on_look=on_look,
    )
    is_clear, told = policy_is_taken(learned, rows[1], groups, found)
    stands = _told(stands, told)
    if not is_clear:
        return stands
    report = with_policy(stands.report, learned, rows[1])
    return LadderFit(learned, blend, report, is_policy=True)


def _climbed(
    table: RewardTable,
    pools: Pools | None,
    groups: Sequence[str],
    ladder: LadderConfig,
    settings: BlendConfig,
    on_progress: OnProgress,
) -> tuple[Standing, BlendHead | None]:
    """What stands of keep, single actions and, where there are pools, blends; a blend's weights."""
    from rl_rewriter.training.blend.fit import fit_blend

    singles = Singles.of(table)
    if pools is None:
        return fit_singles(singles, groups, ladder, settings.seed), None
    on_progress("learning a blend", 0, 1)
    found = fit_blend(pools, table.states, groups, singles, settings, ladder=ladder)
    on_progress("learning a blend", 1, 1)
    return found.stands, found.head


def _told(found: LadderFit, message: str) -> LadderFit:
    report = found.report
    return replace(found, report=replace(report, messages=(*report.messages, message)))


def _blend_settings(pools: Pools | None, config: FitConfig) -> BlendConfig:
    """A blend's settings, with the metric, the seed and the prices of the whole fit."""
    blend = config.blend or BlendConfig()
    price = 0.0 if pools is None else _price(pools, config.reward)
    return replace(
        blend,
        metric=config.reward.metric,
        seed=config.reinforce.seed,
        price=blend.price + price,
    )


def _price(pools: Pools, reward: RewardConfig) -> float:
    """What a blend costs on a query by the reward's prices: a search, and one of BM25 for words.

    Parts of the conversation that are embedded for it aren't counted, as in the effort of its
    rewrites.
    """
    effort = (1, 1 + int(pools.is_lexical.any()), 0, 0)
    return float(reward.prices(np.asarray(effort, dtype=np.int16)))


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
