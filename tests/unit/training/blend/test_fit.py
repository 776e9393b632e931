"""From pools to a blend, as simply as the queries allow."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.blend_prior import BlendPrior
from rl_rewriter.errors import InputError
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.fit import BlendFit, fit_blend
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.singles import Singles
from tests.unit.training.blend.parts import (
    FAST,
    LADDER,
    SAME_FOR_ALL,
    UNTUNED,
    World,
    judge_of,
    world,
)

KNOWN = world(200)


@cache
def fit(drawn: World, config: BlendConfig = UNTUNED, ladder: LadderConfig = LADDER) -> BlendFit:
    """What is learned in a world, once for all tests."""
    return anew(drawn, config, ladder)


def anew(drawn: World, config: BlendConfig, ladder: LadderConfig = LADDER) -> BlendFit:
    singles = Singles.at_no_price(drawn.single_values)
    return fit_blend(drawn.pools, drawn.states, drawn.groups, singles, config, ladder=ladder)


def within(limit: float) -> LadderConfig:
    return replace(LADDER, hurt_limit=limit)


def value_of(head: BlendHead, drawn: World) -> float:
    """Mean value of what a head gives the queries of another world."""
    rows = np.arange(len(drawn.pools))
    judge = judge_of(drawn.pools, scales=head.scale)
    return float(judge.values(rows, head.weights(drawn.states, drawn.pools.present)).mean())


def test_where_the_state_tells_what_helps_weights_differ_by_query() -> None:
    found = fit(KNOWN, FAST)
    assert found.stands.rung == "by_query"
    values = found.stands.report.values
    assert values["keep"] < values["single"] < values["same_for_all"] < values["by_query"]
    assert found.head is not None
    assert len(found.head.networks) == FAST.by_query.members
    fresh = world(600, seed=9)
    same = fit(KNOWN, SAME_FOR_ALL)
    assert same.head is not None
    assert value_of(found.head, fresh) > value_of(same.head, fresh) + 0.03


def test_cross_fitted_values_foretell_those_of_fresh_queries() -> None:
    found = fit(KNOWN)
    assert found.head is not None
    assert value_of(found.head, world(1000, seed=5)) == pytest.approx(
        found.stands.report.served_value, abs=0.05
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_states_of_noise_do_no_harm(seed: int) -> None:
    """Weights by query, tried in vain, are taken by chance now and then: on fresh queries level."""
    drawn = world(200, seed=seed, tells_kind=False)
    found, same = fit(drawn), fit(drawn, SAME_FOR_ALL)
    assert found.stands.rung in ("same_for_all", "by_query")
    assert "by_query" in found.stands.report.values
    assert found.head is not None
    assert same.head is not None
    fresh = world(600, seed=9, tells_kind=False)
    assert value_of(found.head, fresh) > value_of(same.head, fresh) - 0.02


def test_where_nothing_is_to_be_gained_keep_stays() -> None:
    found = fit(world(200, help_of_views=0.0, help_of_query=3.0))
    assert (found.stands.rung, found.head) == ("keep", None)
    assert found.stands.report.served_value == found.stands.report.values["keep"]


def test_twenty_queries_leave_keep_or_a_single_action() -> None:
    found = fit(world(20))
    assert found.stands.rung in ("keep", "single")
    assert found.head is None
    assert any("a blend takes at least 25" in line for line in found.stands.report.messages)


@pytest.mark.parametrize("seed", range(4))
def test_forty_queries_get_no_weights_by_query(seed: int) -> None:
    found = fit(world(40, seed=seed))
    assert found.stands.rung != "by_query"
    assert any(
        "weights by query take at least 150" in line for line in found.stands.report.messages
    )


def test_one_group_teaches_nothing() -> None:
    found = fit(replace(KNOWN, groups=("one",) * 200))
    assert found.stands.rung == "keep"
    assert "at least two groups" in found.stands.report.messages[0]


def test_a_retriever_without_views_leaves_nothing_to_blend() -> None:
    drawn = world(30)
    pools = drawn.pools
    alone = replace(
        pools,
        views=pools.views[:1],
        is_lexical=pools.is_lexical[:1],
        scores=pools.scores[:, :, :1],
        present=pools.present[:, :1],
        floors=pools.floors[:, :1],
    )
    found = fit(replace(drawn, pools=alone, single_values=drawn.single_values[:, :1]))
    assert found.stands.rung == "keep"
    assert "nothing to blend" in found.stands.report.messages[0]


def test_without_values_of_single_actions_keep_is_valued_on_the_pools() -> None:
    found = fit_blend(KNOWN.pools, KNOWN.states, KNOWN.groups, None, SAME_FOR_ALL, ladder=LADDER)
    assert found.stands.single is None
    assert "single" not in found.stands.cross_fitted
    assert found.stands.cross_fitted["keep"] == pytest.approx(KNOWN.single_values[:, 0])


def test_the_best_single_action_is_named() -> None:
    drawn = world(200, help_of_views=4.0, tells_kind=False)
    best = fit(drawn, SAME_FOR_ALL).stands.single
    assert best == int(drawn.single_values.mean(axis=0).argmax())


def test_the_same_seed_gives_the_same_head_and_another_another() -> None:
    first, again = fit(KNOWN, FAST), anew(KNOWN, FAST)
    other = fit(KNOWN, replace(SAME_FOR_ALL, seed=1))
    assert first.head is not None
    assert again.head is not None
    assert other.head is not None
    assert first.head.version == again.head.version != other.head.version
    assert np.array_equal(
        first.stands.cross_fitted["by_query"], again.stands.cross_fitted["by_query"]
    )


def test_a_limit_on_hurt_queries_weakens_the_blend() -> None:
    drawn = world(200, help_of_query=2.0)
    free = fit(drawn, SAME_FOR_ALL)
    held = fit(drawn, SAME_FOR_ALL, within(free.stands.report.served_hurt / 2))
    assert held.head is not None
    assert 0.0 < held.head.strength < 1.0
    assert held.stands.report.served_hurt <= free.stands.report.served_hurt / 2
    assert held.stands.report.values["keep"] < held.stands.report.served_value
    assert held.stands.served.mean() == held.stands.report.served_value
    assert not np.array_equal(held.stands.served, held.stands.cross_fitted["same_for_all"])
    assert np.array_equal(free.stands.served, free.stands.cross_fitted["same_for_all"])
    weights = held.head.weights(drawn.states, drawn.pools.present)
    assert (weights[:, 0] >= 1.0 - held.head.strength - 1e-6).all()


def test_a_limit_that_no_share_meets_leaves_keep() -> None:
    drawn = world(200, help_of_query=2.0)
    values = drawn.single_values.copy()
    values[np.argsort(values[:, 0])[:5], 0] = 1.0  # better than any blend is there
    states = np.zeros_like(drawn.states)  # nothing tells which ones these are
    unknown = replace(drawn, single_values=values, states=states)
    found = fit(unknown, SAME_FOR_ALL, within(0.0))
    assert "keep is served" in found.stands.report.on_limit
    assert (found.stands.rung, found.head) == ("keep", None)


def test_a_single_action_that_hurts_too_many_gives_way_to_a_weaker_blend() -> None:
    drawn = world(200, help_of_query=2.0)
    good = np.where(np.arange(200) % 8 > 0, 1.0, 0.0)
    values = np.stack([drawn.single_values[:, 0], good], axis=1)
    drawn = replace(drawn, single_values=values)
    assert fit(drawn, SAME_FOR_ALL).stands.rung == "single"
    held = fit(drawn, SAME_FOR_ALL, within(0.05))
    assert held.stands.rung == held.stands.report.rung == "same_for_all"
    assert held.stands.report.served_hurt <= 0.05
    assert held.stands.report.served_value > held.stands.report.values["keep"]


def test_a_price_is_weighed_against_the_gain() -> None:
    free = fit(KNOWN, SAME_FOR_ALL)
    gain = free.stands.report.served_value - free.stands.report.values["keep"]
    cheap = fit(KNOWN, replace(SAME_FOR_ALL, price=gain / 2))
    assert cheap.stands.report.served_value == pytest.approx(
        free.stands.report.served_value - gain / 2
    )
    assert cheap.stands.report.hurt == free.stands.report.hurt
    assert fit(KNOWN, replace(SAME_FOR_ALL, price=2 * gain)).head is None


def test_columns_that_never_vary_say_nothing() -> None:
    states = KNOWN.states.copy()
    states[:, 1] = 3.0
    found = fit(replace(KNOWN, states=states))
    assert found.head is not None
    moved = states.copy()
    moved[:, 1] = 500.0
    present = KNOWN.pools.present
    assert found.head.weights(moved, present) == pytest.approx(
        found.head.weights(states, present), abs=1e-5
    )


def test_with_a_prior_twenty_queries_are_enough_to_take_it() -> None:
    drawn = world(20)
    prior = BlendPrior(drawn.pools.views, np.asarray([0.0, 0.5, 0.5, -3.0], dtype=np.float32))
    heavy = replace(UNTUNED, listwise=replace(UNTUNED.listwise, prior_queries=1e5))
    found = fit_blend(
        drawn.pools, drawn.states, drawn.groups, None, heavy, ladder=LADDER, prior=prior
    )
    assert found.stands.rung == "same_for_all"
    assert found.head is not None
    off = found.head.bias - prior.logits
    assert off == pytest.approx(np.full(4, off[0]), abs=0.01)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"groups": ("a",)}, "as many states and groups, got 200 and 1"),
        ({"states": KNOWN.states[:5]}, "got 5 and 200"),
        ({"single_values": KNOWN.single_values[:5]}, "must have 200 rows"),
        ({"states": np.full_like(KNOWN.states, np.nan)}, "must be finite"),
        ({"pools": KNOWN.pools.subset([])}, "at least one judged query"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        fit(replace(KNOWN, **changes))
