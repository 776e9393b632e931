"""Settings of learning a blend."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.blend.config import (
    BlendConfig,
    ByQueryConfig,
    FineTuneConfig,
    LadderConfig,
    ListwiseConfig,
    PoolConfig,
)


@pytest.mark.parametrize(
    "config",
    [
        BlendConfig(),
        BlendConfig(
            metric=Metric("mrr", 5),
            by_query=ByQueryConfig(pulls=(0.5,), hidden=4),
            hurt_limit=0.06,
            seed=7,
        ),
    ],
)
def test_settings_survive_json(config: BlendConfig) -> None:
    assert BlendConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_settings_that_are_not_named_are_the_defaults() -> None:
    assert BlendConfig.from_json({"seed": 3}) == BlendConfig(seed=3)


@pytest.mark.parametrize("record", [{"depth": 3}, {"pools": {"depth": 3}}, {"ladder": 3}])
def test_settings_that_nobody_knows_are_refused(record: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="can't be read"):
        BlendConfig.from_json(record)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (PoolConfig, {"size": 0}),
        (ListwiseConfig, {"steps": 0}),
        (ListwiseConfig, {"learning_rate": 0.0}),
        (ListwiseConfig, {"prior_queries": -1.0}),
        (ByQueryConfig, {"dropout": 1.0}),
        (ByQueryConfig, {"pulls": (-1.0,)}),
        (ByQueryConfig, {"members": 0}),
        (FineTuneConfig, {"samples": 1}),
        (FineTuneConfig, {"sigma": 0.0}),
        (FineTuneConfig, {"beta": float("nan")}),
        (LadderConfig, {"folds": 1}),
        (LadderConfig, {"by_query": -1.0}),
        (BlendConfig, {"hurt_limit": 1.5}),
    ],
)
def test_settings_that_cannot_work_are_refused(kind: type[Any], wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        kind(**wrong)
