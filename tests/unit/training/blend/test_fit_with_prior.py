"""A prior is where few queries start and what many leave behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.actions.blend_prior import BlendPrior, shipped_prior
from rl_rewriter.errors import InputError
from rl_rewriter.training.blend.config import BlendConfig, ListwiseConfig
from rl_rewriter.training.blend.fit import BlendFit, fit_blend
from rl_rewriter.training.ladder.config import LadderConfig
from tests.unit.training.blend.parts import SAME_FOR_ALL, World, judge_of, world

NAMES = ("query", "first_3", "bm25_3", "words")
ALWAYS = LadderConfig(folds=3, same_for_all=0.0)
ONE_STEP = replace(SAME_FOR_ALL, listwise=ListwiseConfig(steps=1))
WRONG = BlendPrior(NAMES, np.asarray([1.0, -1.0, -1.0, 1.0], dtype=np.float32))


def known(n: int, seed: int = 0) -> World:
    """A world whose views have names that the shipped prior knows."""
    drawn = world(n, seed=seed)
    return replace(drawn, pools=replace(drawn.pools, views=NAMES))


def fit(drawn: World, config: BlendConfig, prior: BlendPrior | None = None) -> BlendFit:
    return fit_blend(
        drawn.pools, drawn.states, drawn.groups, None, config, ladder=ALWAYS, prior=prior
    )


def logits(found: BlendFit) -> list[float]:
    assert found.head is not None
    bias: list[float] = (found.head.bias - found.head.bias.mean()).tolist()
    return bias


def value(found: BlendFit, drawn: World) -> float:
    assert found.head is not None
    judge = judge_of(drawn.pools, scales=found.head.scale)
    weights = found.head.weights(drawn.states, drawn.pools.present)
    return float(judge.values(np.arange(len(drawn.pools)), weights).mean())


def test_the_shipped_prior_is_where_weights_start_where_it_is_asked_for() -> None:
    drawn = known(40)
    with_it = fit(drawn, replace(ONE_STEP, prior="shipped"))
    start = shipped_prior().for_views(NAMES)
    assert logits(with_it) == pytest.approx((start - start.mean()).tolist(), abs=0.02)
    without = fit(drawn, ONE_STEP)
    assert logits(without) == pytest.approx([0.75, -0.25, -0.25, -0.25], abs=0.02)


def test_the_report_says_that_there_was_a_prior() -> None:
    said = "weights start from a prior that other collections taught"
    drawn = known(40)
    assert said in fit(drawn, replace(ONE_STEP, prior="shipped")).stands.report.messages
    assert said not in fit(drawn, ONE_STEP).stands.report.messages


def test_a_wrong_prior_holds_few_queries_and_not_many() -> None:
    held = replace(SAME_FOR_ALL, listwise=replace(SAME_FOR_ALL.listwise, prior_queries=20.0))
    fresh = known(500, seed=9)
    lost = {}
    for n in (30, 600):
        drawn = known(n)
        lost[n] = value(fit(drawn, SAME_FOR_ALL), fresh) - value(fit(drawn, held, WRONG), fresh)
    assert lost[30] > 0.02
    assert lost[600] < lost[30] / 3


def test_a_prior_of_another_name_is_refused() -> None:
    with pytest.raises(InputError, match='prior must be "shipped" or None, got'):
        BlendConfig(prior="mine")  # type: ignore[arg-type]
