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
    ListwiseConfig,
    PoolConfig,
)


def test_settings_can_be_written_as_json() -> None:
    told = json.loads(json.dumps(BlendConfig(metric=Metric("mrr", 5), seed=7).to_json()))
    assert (told["metric"], told["seed"], told["by_query"]["members"]) == ("mrr@5", 7, 3)


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
        (BlendConfig, {"price": -0.1}),
    ],
)
def test_settings_that_cannot_work_are_refused(kind: type[Any], wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        kind(**wrong)
