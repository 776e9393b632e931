"""What is served where only so many queries may fall below keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.training.blend.fit import BlendFit, fit_blend
from rl_rewriter.training.ladder.hurt import hurt_share, likely
from rl_rewriter.training.ladder.singles import Singles
from tests.unit.training.blend.parts import LADDER, SAME_FOR_ALL, World, gateable, judge_of


def fit(drawn: World, limit: float | None, price: float = 0.0) -> BlendFit:
    return fit_blend(
        drawn.pools,
        drawn.states,
        drawn.groups,
        Singles.at_no_price(drawn.single_values),
        replace(SAME_FOR_ALL, price=price),
        ladder=replace(LADDER, hurt_limit=limit),
    )


LEARNED, FRESH = gateable(300), gateable(1000, seed=50)
WHOLE = fit(LEARNED, None)


def of_fresh(found: BlendFit) -> tuple[float, float]:
    """Gain and share hurt on fresh queries of what is served."""
    assert found.head is not None
    judge = judge_of(FRESH.pools, scales=found.head.scale)
    weights = found.head.weights(FRESH.states, FRESH.pools.present)
    values, keep = judge.values(np.arange(1000), weights), FRESH.single_values[:, 0]
    return float((values - keep).mean()), hurt_share(values, keep)


def test_a_gate_keeps_the_gain_and_leaves_the_harm() -> None:
    """Weaker weights would hurt fewer only by gaining less; the state tells who is hurt."""
    whole_gain, whole_hurt = of_fresh(WHOLE)
    assert whole_hurt > 0.08
    found = fit(LEARNED, 0.06)
    assert found.head is not None
    assert found.head.gate is not None
    gain, hurt = of_fresh(found)
    assert hurt <= 0.06
    assert gain > 0.8 * whole_gain
    assert 0.3 < found.stands.report.served_share < 0.8
    assert found.stands.report.served_share == found.stands.is_open.mean()
    assert "where its predicted advantage over keep is at least" in found.stands.report.on_limit
    assert f"{found.stands.report.served_hurt:.1%} are below keep" in found.stands.report.on_limit


@settings(max_examples=12, deadline=None)
@given(limit=st.floats(0.0, 0.4), seed=st.integers(0, 3))
def test_the_share_hurt_is_within_the_limit_whatever_it_is(limit: float, seed: int) -> None:
    drawn = gateable(80, seed=seed)
    found = fit(drawn, limit)
    keep = drawn.single_values[:, 0]
    assert found.stands.report.served_hurt == hurt_share(found.stands.served, keep)
    assert found.stands.rung == "keep" or likely(found.stands.report.served_hurt, 80) <= limit
    assert np.array_equal(found.stands.served[~found.stands.is_open], keep[~found.stands.is_open])
    blend = found.stands.cross_fitted.get(found.stands.rung, keep)
    assert np.array_equal(found.stands.served[found.stands.is_open], blend[found.stands.is_open])
    assert (found.head is None) == (found.stands.rung in ("keep", "single"))


@pytest.mark.parametrize("limit", [None, 1.0])
def test_without_a_limit_that_binds_nothing_changes(limit: float | None) -> None:
    found = fit(LEARNED, limit)
    assert found.head is not None
    assert WHOLE.head is not None
    assert found.head.gate is None
    assert found.head.version == WHOLE.head.version
    assert found.stands.is_open.all()
    assert np.array_equal(found.stands.served, found.stands.cross_fitted["same_for_all"])
    assert found.stands.report.served_share == 1.0
    assert bool(found.stands.report.on_limit) is (limit is not None)


def test_a_gate_changes_no_weight_where_it_is_open() -> None:
    found = fit(LEARNED, 0.06)
    assert found.head is not None
    assert WHOLE.head is not None
    assert np.array_equal(found.head.bias, WHOLE.head.bias)
    states, present = LEARNED.states, LEARNED.pools.present
    is_open = found.head.is_open(states)
    weights = found.head.weights(states, present)
    assert np.array_equal(weights[is_open], WHOLE.head.weights(states, present)[is_open])
    assert (weights[~is_open, 0] == 1.0).all()
    # Fitted to all queries, it opens to nearly those that cross-fitting let through.
    assert (is_open == found.stands.is_open).mean() > 0.95


def test_where_the_state_tells_nothing_the_blend_is_weakened_or_left() -> None:
    states = np.zeros_like(LEARNED.states)
    unknown = replace(LEARNED, states=states)
    weak = fit(unknown, WHOLE.stands.report.served_hurt * 0.9)
    assert weak.head is not None
    assert weak.head.gate is None
    assert 0.0 < weak.head.strength == weak.stands.report.strength < 1.0
    assert weak.stands.is_open.all()
    values = LEARNED.single_values.copy()
    values[np.argsort(values[:, 0])[:10], 0] = 1.0  # better than any blend is there
    left = fit(replace(unknown, single_values=values), 0.02)
    assert (left.stands.rung, left.head, left.stands.report.served_share) == ("keep", None, 0.0)
    assert np.array_equal(left.stands.served, values[:, 0])
    assert left.stands.report.on_limit.startswith(
        "at most 2% of the queries may fall below keep: keep is"
    )


def test_a_price_is_paid_where_the_blend_is_served_and_hurts_nobody() -> None:
    free, priced = fit(LEARNED, 0.06), fit(LEARNED, 0.06, price=0.01)
    keep = LEARNED.single_values[:, 0]
    assert np.array_equal(
        priced.stands.served[~priced.stands.is_open], keep[~priced.stands.is_open]
    )
    blend = free.stands.cross_fitted["same_for_all"][priced.stands.is_open]
    np.testing.assert_allclose(priced.stands.served[priced.stands.is_open], blend - 0.01)
    hurt = priced.stands.is_open & (free.stands.cross_fitted["same_for_all"] < keep - 1e-9)
    assert priced.stands.report.served_hurt == hurt.mean() <= 0.06
