from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig, gains_over_keep
from rl_rewriter.types import Query, Rewrite

QUERY = Query("where is my parcel")
PRICED = RewardConfig(rewrite_cost=0.01, search_cost=0.1, embedding_cost=1.0, llm_call_cost=10.0)
VECTOR = np.ones(3, dtype=np.float32)


def test_rewards_are_gains_over_keep_less_the_price() -> None:
    values = np.array([[0.5, 0.8, 0.5], [0.2, 0.0, 0.3]])
    prices = np.array([[0.7, 0.1, 0.0], [0.7, 0.0, 0.2]])
    rewards = gains_over_keep(values, prices)
    assert np.allclose(rewards, [[0.0, 0.2, 0.0], [0.0, -0.2, -0.1]])
    assert (rewards[:, 0] == 0).all()


@pytest.mark.parametrize(
    ("rewrite", "price"),
    [
        (Rewrite.keep(QUERY), 0.0),
        (Rewrite(texts=("parcel",)), 0.01 + 0.1 + 1.0),
        (Rewrite.blend(QUERY, "parcel", 0.5), 0.01 + 0.1 + 1.0),
        (Rewrite(texts=(QUERY.text,), vector=VECTOR), 0.01 + 0.1),
        (Rewrite(texts=(QUERY.text,), lexical_weight=0.4), 0.01 + 0.2),
        (Rewrite(texts=("parcel",), llm_calls=2), 0.01 + 0.1 + 1.0 + 20.0),
        (Rewrite(texts=(QUERY.text,), llm_calls=1), 10.0),
    ],
)
def test_a_rewrite_costs_what_it_makes_the_chain_do(rewrite: Rewrite, price: float) -> None:
    assert PRICED.price(rewrite, QUERY) == pytest.approx(price)
    assert RewardConfig().price(rewrite, QUERY) == 0.0


@pytest.mark.parametrize("name", ["rewrite_cost", "search_cost", "embedding_cost", "llm_call_cost"])
@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_prices_are_not_negative(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must not be negative"):
        RewardConfig(**{name: value})  # type: ignore[arg-type]


def test_settings_round_trip() -> None:
    config = RewardConfig(metric=Metric("mrr", 5), search_cost=0.5)
    assert RewardConfig.from_json(config.to_json()) == config
