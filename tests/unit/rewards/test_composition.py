"""One reward of many signals, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.composition import (
    Composed,
    FeedbackColumns,
    RewardComposition,
    compose,
)
from rl_rewriter.rewards.feedback import FeedbackKind

Event = tuple[int, str, float, float, int]
"""Row, kind, value, time, position."""


def columns(events: Sequence[Event]) -> FeedbackColumns:
    names = tuple(dict.fromkeys(kind for _, kind, *_ in events))
    return FeedbackColumns(
        rows=np.asarray([event[0] for event in events], dtype=np.intp),
        kinds=np.asarray([names.index(event[1]) for event in events], dtype=np.intp),
        values=np.asarray([event[2] for event in events], dtype=np.float64),
        times=np.asarray([event[3] for event in events], dtype=np.float64),
        positions=np.asarray([event[4] for event in events], dtype=np.intp),
        names=names,
    )


def composed(
    events: Sequence[Event], n: int = 1, costs: Sequence[float] = (), **settings: object
) -> Composed:
    composition = RewardComposition(**settings)  # type: ignore[arg-type]
    return compose(columns(events), np.asarray(costs or [0.0] * n), composition)


def test_every_kind_counts_alike_and_the_cost_is_subtracted() -> None:
    found = composed(
        [(0, "thumb", 1, 0, -1), (0, "rating", 2, 0, -1), (1, "thumb", -1, 0, -1)],
        n=3,
        costs=[0.1, 0.2, 0.3],
    )
    np.testing.assert_allclose(found.rewards, [(1 + 0.25) / 2 - 0.1, 0 - 0.2, math.nan])
    np.testing.assert_allclose(found.parts["thumb"], [1, 0, math.nan])
    np.testing.assert_allclose(found.parts["rating"], [0.25, math.nan, math.nan])
    np.testing.assert_allclose(found.parts["cost"], [0.1, 0.2, 0.3])


def test_weights_are_scaled_to_what_came() -> None:
    events = [(0, "thumb", 1, 0, -1), (0, "resolved", 0, 0, -1), (1, "resolved", 1, 0, -1)]
    found = composed(events, n=2, weights={"thumb": 3.0, "resolved": 1.0, "copy": 5.0})
    np.testing.assert_allclose(found.rewards, [0.75, 1.0])


def test_of_a_session_what_did_not_come_counts_as_nothing() -> None:
    events = [(0, "click", 1, 0, 0), (1, "dwell_seconds", 30, 0, -1), (1, "diversity", 0.4, 0, -1)]
    found = compose(columns(events), np.asarray([2.0, 0.0]), RewardComposition.of_sessions())
    np.testing.assert_allclose(found.rewards, [0.6 - 0.05 * 2, 0.3 * 0.5 + 0.05 * 0.4])


def test_kinds_without_a_weight_do_not_count() -> None:
    found = composed([(0, "thumb", 1, 0, -1), (1, "copy", 1, 0, -1)], n=2, weights={"copy": 1.0})
    np.testing.assert_allclose(found.rewards, [math.nan, 1.0])
    assert set(found.parts) == {"copy", "cost"}


def test_the_best_placed_click_counts() -> None:
    events = [(0, "click", 1, 0, 2), (0, "click", 1, 1, 6), (1, "click", 1, 0, 0)]
    events += [(2, "click", 0, 0, -1), (3, "click", 1, 0, -1)]
    found = composed(events, n=4)
    np.testing.assert_allclose(found.rewards, [1 / math.log2(4), 1, 0, 1])


def test_grades_of_documents_are_averaged_by_rank() -> None:
    events = [(0, "relevance", 1, 0, 0), (0, "relevance", 0, 0, 2)]
    np.testing.assert_allclose(composed(events).rewards, [1 / (1 + 1 / math.log2(4))])


@pytest.mark.parametrize(("rule", "expected"), [("last", 0.2), ("mean", 0.5), ("max", 0.9)])
def test_several_of_one_kind_follow_its_rule(rule: str, expected: float) -> None:
    kinds = {"grade": FeedbackKind(rule=rule)}  # type: ignore[arg-type]
    events = [(0, "grade", 0.9, 1, -1), (0, "grade", 0.2, 3, -1), (0, "grade", 0.4, 2, -1)]
    assert composed(events, kinds=kinds).rewards.tolist() == pytest.approx([expected])


def test_of_two_at_once_the_later_arrival_is_the_last() -> None:
    events = [(0, "thumb", 1, 5, -1), (0, "thumb", -1, 5, -1)]
    assert composed(events).rewards.tolist() == [0.0]


def test_values_off_the_scale_are_counted_and_change_nothing() -> None:
    events = [(0, "rating", 9, 0, -1), (0, "rating", 5, 0, -1), (1, "rating", 0, 0, -1)]
    found = composed(events, n=2)
    np.testing.assert_allclose(found.rewards, [1, math.nan])
    assert found.refused == {"rating": 2}
    assert found.lost.tolist() == [False, True]


def test_a_thumb_of_0_is_down_where_none_is_negative() -> None:
    events = [(0, "thumb", 0, 0, -1), (1, "thumb", 1, 0, -1)]
    assert composed(events, n=2).rewards.tolist() == [0.0, 1.0]
    signed = [*events, (2, "thumb", -1, 0, -1)]
    assert composed(signed, n=3).rewards.tolist() == [0.5, 1.0, 0.0]


def test_nothing_came_for_anybody() -> None:
    found = composed([], n=2)
    assert np.isnan(found.rewards).all()
    assert composed([], n=0).rewards.shape == (0,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"absent": "ignored"}, "absent must be .* got 'ignored'"),
        ({"cost_weight": math.nan}, "cost_weight must be a finite number"),
        ({"weights": {}}, "weights must be finite and not all 0, got {}"),
        ({"weights": {"click": 0.0}}, "weights must be finite and not all 0"),
        ({"weights": {"click": math.inf}}, "weights must be finite"),
        ({"weights": {"click": 1.0, "copy": -1.0}}, 'negative weights need absent="zero"'),
    ],
)
def test_compositions_that_mean_nothing_are_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RewardComposition(**settings)  # type: ignore[arg-type]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from(["thumb", "copy", "click", "answer_grade"]),
            st.floats(0, 1),
            st.floats(0, 1e9),
            st.integers(-1, 20),
        ),
        max_size=30,
    )
)
def test_rewards_of_worths_from_0_to_1_stay_there(events: list[Event]) -> None:
    found = composed(events, n=5)
    has_feedback = np.isin(np.arange(5), [event[0] for event in events])
    assert np.isfinite(found.rewards).tolist() == has_feedback.tolist()
    assert ((found.rewards[has_feedback] >= 0) & (found.rewards[has_feedback] <= 1)).all()


@given(st.permutations(range(6)))
def test_the_order_of_arrival_matters_to_the_last_alone(order: list[int]) -> None:
    events = [(row % 2, kind, row / 10, row, -1) for row, kind in enumerate(["thumb", "copy"] * 3)]
    expected = composed(events, n=2).rewards
    shuffled = composed([events[row] for row in order], n=2).rewards
    np.testing.assert_allclose(shuffled, expected)
