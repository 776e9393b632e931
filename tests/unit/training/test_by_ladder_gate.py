"""A gated blend in a whole fit: its column, its price, and what is served of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.by_ladder import LadderFit, fit_by_ladder
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from tests.tables import identity_task
from tests.unit.benchmark.comparison.conftest import features
from tests.unit.training.blend.parts import LADDER, SAME_FOR_ALL, gateable

DRAWN = gateable(300)
KEEP = DRAWN.single_values[:, 0]
CONFIG = FitConfig(
    reinforce=ReinforceConfig(updates=4, evaluate_every=2, warm_up=1),
    reward=RewardConfig(rewrite_cost=0.02),
    ladder=replace(LADDER, hurt_limit=0.06),
    blend=SAME_FOR_ALL,
)


def table() -> RewardTable:
    """Keep alone is worth something: beside it there is the blend."""
    nothing = identity_task(300, 2)
    values = np.stack([KEEP, np.zeros(300)], axis=1)
    return replace(nothing, states=DRAWN.states, values=values, rewards=values - KEEP[:, None])


def fitted() -> LadderFit:
    return fit_by_ladder(table(), features(2), DRAWN.pools, DRAWN.groups, CONFIG)


def test_kept_queries_have_keeps_value_and_pay_nothing() -> None:
    found = fitted()
    assert found.blend is not None
    assert found.blend.head.gate is not None
    column, rewards = found.fitted.table.values[:, -1], found.fitted.table.rewards[:, -1]
    paid = column - KEEP - rewards
    kept = np.isclose(paid, 0.0)
    np.testing.assert_allclose(paid[~kept], 0.02)
    assert (~kept).mean() == found.report.served_share
    np.testing.assert_array_equal(column[kept], KEEP[kept])
    assert np.mean(KEEP + rewards) > KEEP.mean()
    assert (column < KEEP - 1e-9).mean() == found.report.served_hurt <= 0.06
    np.testing.assert_allclose(np.mean(KEEP + rewards), found.report.served_value)


def test_the_gate_that_is_served_opens_to_those_that_need_help() -> None:
    found = fitted()
    assert found.blend is not None
    needs_help = DRAWN.states[:, 1] < 0
    is_open = found.blend.head.is_open(DRAWN.states)
    assert (is_open == needs_help).mean() > 0.85
