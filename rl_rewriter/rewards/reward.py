"""The reward of an action: its gain over keep, minus what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import Query, Rewrite

Table = npt.NDArray[np.float64]
"""Shape ``(n, m)``: one row a query, one column an action; column 0 is keep."""
Effort = npt.NDArray[np.int16]
"""Shape ``(..., 4)``: what was done beyond keep, in the order of :data:`EFFORT`."""
EFFORT = ("rewritten", "searches", "embedded", "llm_calls")


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """How metric values become rewards; all prices are in units of the metric.

    Attributes:
        metric: What is improved.
        rewrite_cost: Price of sending anything but the query.
        search_cost: Price of each search beyond the first: of the rewrite, and of BM25 for fusion.
        embedding_cost: Price of each text that has to be embedded beside the query: most of the
            latency of a rewrite.
        llm_call_cost: Price of each call of a language model.
    """

    metric: Metric = field(default_factory=lambda: Metric("ndcg", 10))
    rewrite_cost: float = 0.0
    search_cost: float = 0.0
    embedding_cost: float = 0.0
    llm_call_cost: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative prices."""
        for name in _PRICES:
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")

    def price(self, rewrite: Rewrite, query: Query) -> float:
        """What a rewrite costs beyond keep; 0 where it is the query itself."""
        return float(self.prices(np.asarray(effort_of(rewrite, query), dtype=np.int16)))

    def prices(self, effort: Effort) -> Table:
        """What efforts ``(..., 4)`` cost, ``(...)``."""
        return np.asarray(effort @ np.asarray([getattr(self, name) for name in _PRICES]))

    def to_json(self) -> dict[str, Any]:
        """Settings for a manifest."""
        return {"metric": self.metric.name, **{name: getattr(self, name) for name in _PRICES}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RewardConfig:
        """Settings from a manifest; prices that it doesn't name are 0."""
        prices = {name: float(record.get(name, 0.0)) for name in _PRICES}
        return cls(metric=Metric.parse(str(record["metric"])), **prices)


_PRICES = ("rewrite_cost", "search_cost", "embedding_cost", "llm_call_cost")
"""Prices in the order of :data:`EFFORT`."""


def effort_of(rewrite: Rewrite, query: Query) -> tuple[int, int, int, int]:
    """What a rewrite makes the chain do beyond keep, in the order of :data:`EFFORT`."""
    if rewrite.is_the_query(query):
        return 0, 0, 0, rewrite.llm_calls
    embedded = 0 if rewrite.vector is not None else len({*rewrite.texts} - {query.text})
    return 1, 1 + (rewrite.lexical_weight > 0), embedded, rewrite.llm_calls


def gains_over_keep(values: Table, prices: Table) -> Table:
    """Rewards ``value(action) - value(keep) - price``, shape ``(n, m)``; column 0 is exactly 0.

    Args:
        values: Metric of every action on every query, ``(n, m)``.
        prices: What each action costs on each query, ``(n, m)``.
    """
    rewards: Table = values - values[:, :1] - prices
    rewards[:, 0] = 0.0
    return rewards
