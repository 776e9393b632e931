"""Scales of feedback, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.feedback import KINDS, Expiry, FeedbackKind, kind_named

NAN = math.nan


def worth(kind: str, *raw: float) -> list[float]:
    return [float(value) for value in kind_named(kind).worth(np.asarray(raw))]


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("click", [0, 1, 2], [0, 1, NAN]),
        ("copy", [0, 1], [0, 1]),
        ("thumb", [-1, 0, 1, -2], [0, 0.5, 1, NAN]),
        ("rating", [1, 3, 4, 5, 0, 6], [0, 0.5, 0.75, 1, NAN, NAN]),
        ("answer_grade", [0.3, 1.1], [0.3, NAN]),
        ("resolved", [0, 1], [0, 1]),
        ("reward", [-3.5, 40, math.inf], [-3.5, 40, NAN]),
        ("ndcg@10", [0.4, 1.5], [0.4, NAN]),
        ("hits@4", [1, 4, 5], [0.25, 1, NAN]),
        ("dcg@10", [0.4, 6.5], [0.4, 6.5]),
        ("somebody's own", [0.5, 80], [0.5, NAN]),
        ("dwell_seconds", [-1, math.nan], [NAN, NAN]),
    ],
)
def test_raw_values_have_their_worth(kind: str, raw: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(worth(kind, *raw), expected)


def test_thirty_seconds_are_worth_half_and_a_glance_almost_nothing() -> None:
    glance, half, long, endless = worth("dwell_seconds", 3, 30, 120, 1e300)
    assert half == pytest.approx(0.5)
    assert glance == pytest.approx(1 - 2**-0.01)  # 1 - 2^-(3/30)^2
    assert long == pytest.approx(1 - 2**-16)
    assert endless == 1.0


def test_ones_own_scale_comes_before_the_built_in_one() -> None:
    own = {"thumb": FeedbackKind(low=0.0, high=1.0)}
    assert kind_named("thumb", own) is own["thumb"]
    assert kind_named("rating", own) is KINDS["rating"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"low": 1.0, "high": 1.0}, "low must be below high, got 1.0 and 1.0"),
        ({"low": math.nan}, "low must be below high"),
        ({"low": -math.inf}, "must both be finite"),
        ({"sigma": 0.0}, "sigma must be a positive number, got 0.0"),
        ({"rule": "first"}, "rule must be .* got 'first'"),
        ({"by_position": True}, "by_position needs"),
    ],
)
def test_scales_that_mean_nothing_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FeedbackKind(**settings)  # type: ignore[arg-type]


def test_a_decision_is_young_until_the_very_second() -> None:
    times = np.asarray([0.0, 40.0, 41.0])
    assert Expiry(after=60.0).is_young(times, 100.0).tolist() == [False, False, True]
    assert Expiry().is_young(times, 100.0).tolist() == [False] * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"after": -1.0}, "after must be a number of seconds, got -1.0"),
        ({"after": math.nan}, "after must be a number of seconds"),
        ({"default": math.inf}, "default reward must be a finite number, got inf"),
        ({"mature_only": True}, "mature_only needs after="),
    ],
)
def test_impossible_expiry_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Expiry(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*KINDS, "own", "hits@3"])
@pytest.mark.parametrize("value", [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 5.0, 7.0, math.inf, NAN])
def test_what_is_off_a_scale_is_worth_nothing(name: str, value: float) -> None:
    kind = kind_named(name)
    assert kind.is_on_scale(value) == bool(np.isfinite(kind.worth(np.asarray([value]))[0]))
