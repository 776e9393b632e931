"""Gains over keep, with costs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig, gains_over_keep

VALUES = np.asarray([[0.5, 0.7, 0.4], [0.0, 1.0, 0.0]])


def test_gain_over_keep() -> None:
    rewards = gains_over_keep(VALUES, RewardConfig())
    np.testing.assert_allclose(rewards, [[0.0, 0.2, -0.1], [0.0, 1.0, 0.0]])
    assert VALUES[0, 0] == 0.5


def test_costs_are_paid_by_every_action_but_keep() -> None:
    config = RewardConfig(rewrite_cost=0.01, search_cost=0.1, llm_call_cost=1.0)
    rewards = gains_over_keep(VALUES, config, extra_searches=[9, 1, 0], llm_calls=[9, 0, 2])
    np.testing.assert_allclose(rewards, [[0, 0.2 - 0.11, -0.1 - 2.01], [0, 1 - 0.11, -2.01]])
    same = gains_over_keep(VALUES, config, extra_searches=1)
    np.testing.assert_allclose(same[0], [0, 0.2 - 0.11, -0.1 - 0.11])


@pytest.mark.parametrize("name", ["rewrite_cost", "search_cost", "llm_call_cost"])
def test_negative_prices_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must not be negative, got -1"):
        RewardConfig(**{name: -1.0})  # type: ignore[arg-type]


def test_settings_as_json() -> None:
    assert RewardConfig(metric=Metric("mrr", 5), search_cost=0.5).to_json() == {
        "metric": "mrr@5",
        "rewrite_cost": 0.0,
        "search_cost": 0.5,
        "llm_call_cost": 0.0,
    }
