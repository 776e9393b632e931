"""What is served where only so many queries may fall below keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.training.blend.caution import holds
from rl_rewriter.training.blend.fit import BlendFit, fit_blend
from rl_rewriter.training.blend.gate import likely
from rl_rewriter.training.hurt import hurt_share
from tests.unit.training.blend.parts import SAME_FOR_ALL, World, gateable, judge_of

KEEP = np.asarray([0.0, 0.3, 0.5, 1.0])


def fit(drawn: World, limit: float | None, price: float = 0.0) -> BlendFit:
    config = replace(SAME_FOR_ALL, hurt_limit=limit, price=price)
    return fit_blend(drawn.pools, drawn.states, drawn.groups, drawn.single_values, config)


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
    assert 0.3 < found.report.served_share < 0.8
    assert found.report.served_share == found.is_open.mean()
    assert "where its predicted advantage over keep is at least" in found.report.on_limit
    assert f"{found.report.served_hurt:.1%} are below keep" in found.report.on_limit


@settings(max_examples=12, deadline=None)
@given(limit=st.floats(0.0, 0.4), seed=st.integers(0, 3))
def test_the_share_hurt_is_within_the_limit_whatever_it_is(limit: float, seed: int) -> None:
    drawn = gateable(80, seed=seed)
    found = fit(drawn, limit)
    keep = drawn.single_values[:, 0]
    assert found.report.served_hurt == hurt_share(found.served, keep)
    assert found.rung == "keep" or likely(found.report.served_hurt, 80) <= limit
    assert np.array_equal(found.served[~found.is_open], keep[~found.is_open])
    blend = found.cross_fitted.get(found.rung, keep)
    assert np.array_equal(found.served[found.is_open], blend[found.is_open])
    assert (found.head is None) == (found.rung in ("keep", "single"))


@pytest.mark.parametrize("limit", [None, 1.0])
def test_without_a_limit_that_binds_nothing_changes(limit: float | None) -> None:
    found = fit(LEARNED, limit)
    assert found.head is not None
    assert WHOLE.head is not None
    assert found.head.gate is None
    assert found.head.version == WHOLE.head.version
    assert found.is_open.all()
    assert np.array_equal(found.served, found.cross_fitted["same_for_all"])
    assert found.report.served_share == 1.0
    assert bool(found.report.on_limit) is (limit is not None)


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
    assert (is_open == found.is_open).mean() > 0.95


def test_where_the_state_tells_nothing_the_blend_is_weakened_or_left() -> None:
    states = np.zeros_like(LEARNED.states)
    unknown = replace(LEARNED, states=states)
    weak = fit(unknown, WHOLE.report.served_hurt * 0.9)
    assert weak.head is not None
    assert weak.head.gate is None
    assert 0.0 < weak.head.strength == weak.report.strength < 1.0
    assert weak.is_open.all()
    values = LEARNED.single_values.copy()
    values[np.argsort(values[:, 0])[:10], 0] = 1.0  # better than any blend is there
    left = fit(replace(unknown, single_values=values), 0.02)
    assert (left.rung, left.head, left.report.served_share) == ("keep", None, 0.0)
    assert np.array_equal(left.served, values[:, 0])
    assert left.report.on_limit.startswith("at most 2% of the queries may fall below keep: keep is")


def test_a_price_is_paid_where_the_blend_is_served_and_hurts_nobody() -> None:
    free, priced = fit(LEARNED, 0.06), fit(LEARNED, 0.06, price=0.01)
    keep = LEARNED.single_values[:, 0]
    assert np.array_equal(priced.served[~priced.is_open], keep[~priced.is_open])
    blend = free.cross_fitted["same_for_all"][priced.is_open]
    np.testing.assert_allclose(priced.served[priced.is_open], blend - 0.01)
    hurt = priced.is_open & (free.cross_fitted["same_for_all"] < keep - 1e-9)
    assert priced.report.served_hurt == hurt.mean() <= 0.06


@pytest.mark.parametrize(
    ("change", "share"), [(0.0, 0.0), (1e-12, 0.0), (-1e-12, 0.0), (-0.1, 1.0)]
)
def test_a_rounding_error_hurts_nobody(change: float, share: float) -> None:
    assert hurt_share(KEEP + change, KEEP) == share


@pytest.mark.parametrize(
    ("hurt", "n_groups", "limit", "expected"),
    [
        (0.5, 4, None, True),
        (0.0, 4, 0.0, False),
        (0.0, 4, 0.1, False),
        (0.0, 40, 0.1, True),
        (0.05, 1000, 0.06, True),
        (0.05, 100, 0.06, False),
        (0.06, 10**6, 0.06, False),
    ],
)
def test_a_limit_holds_with_a_standard_error_to_spare(
    hurt: float, n_groups: int, limit: float | None, expected: bool
) -> None:
    assert holds(hurt, n_groups, limit) is expected
