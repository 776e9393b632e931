"""The reward of an action: its gain over keep, minus what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric

Table = npt.NDArray[np.float64]
"""Shape ``(n, m)``: one row a query, one column an action; column 0 is keep."""


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """How metric values become rewards.

    Attributes:
        metric: What is improved.
        rewrite_cost: Price of any action other than keep, in metric units.
        search_cost: Price of each search beyond the first, in metric units.
        llm_call_cost: Price of each call of a language model, in metric units.
    """

    metric: Metric = field(default_factory=lambda: Metric("ndcg", 10))
    rewrite_cost: float = 0.0
    search_cost: float = 0.0
    llm_call_cost: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative prices."""
        for name in ("rewrite_cost", "search_cost", "llm_call_cost"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")

    def to_json(self) -> dict[str, Any]:
        """Settings for a manifest."""
        return {
            "metric": self.metric.name,
            "rewrite_cost": self.rewrite_cost,
            "search_cost": self.search_cost,
            "llm_call_cost": self.llm_call_cost,
        }


def gains_over_keep(
    values: Table,
    config: RewardConfig,
    *,
    extra_searches: npt.ArrayLike = 0.0,
    llm_calls: npt.ArrayLike = 0.0,
) -> Table:
    """Rewards ``value(action) - value(keep) - costs``, shape ``(n, m)``; column 0 is exactly 0.

    Args:
        values: Metric of every action on every query.
        config: Prices.
        extra_searches: Searches beyond the first that each action makes, ``(m,)`` or one number.
        llm_calls: Calls of a language model that each action makes, ``(m,)`` or one number.
    """
    n_actions = values.shape[1]
    costs = (
        config.rewrite_cost
        + config.search_cost * np.broadcast_to(np.asarray(extra_searches, float), (n_actions,))
        + config.llm_call_cost * np.broadcast_to(np.asarray(llm_calls, float), (n_actions,))
    )
    rewards: Table = values - values[:, :1] - costs[None, :]
    rewards[:, 0] = 0.0
    return rewards
