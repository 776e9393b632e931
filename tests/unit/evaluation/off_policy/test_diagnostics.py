from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.evaluation.off_policy.diagnostics import (
    Overlap,
    effective_size,
    outside_support,
    overlap,
)
from tests.unit.evaluation.off_policy.worlds import by_hand, world

NAN = float("nan")


def test_effective_size_by_hand() -> None:
    assert effective_size(np.asarray([2.0, 0.0, 4.0, 1.0])) == pytest.approx(49.0 / 21.0)
    assert effective_size(np.full(7, 3.0)) == pytest.approx(7.0)
    assert effective_size(np.zeros(3)) == 0.0


def test_overlap_by_hand() -> None:
    found = overlap(by_hand(largest_weight=3.0))
    assert found.ess == pytest.approx(36.0 / 14.0)
    assert found.ess_share == pytest.approx(9.0 / 14.0)
    assert (found.max_weight, found.mean_weight, found.cut_share) == (4.0, 1.75, 0.25)


def test_actions_that_were_never_logged_are_outside() -> None:
    target = [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    sample = by_hand(target=target, predicted=None)
    assert outside_support(sample) == pytest.approx(1.25 / 4)


def test_actions_without_a_chance_are_outside() -> None:
    logging = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [NAN, NAN]]
    target = [[0.4, 0.6], [0.5, 0.5], [0.7, 0.3], [0.0, 1.0]]
    sample = by_hand(target=target, logging=logging, actions=[0, 1, 1, 0])
    assert outside_support(sample) == pytest.approx((0.6 + 0.7) / 4)


def test_a_sound_log_warns_of_nothing() -> None:
    logged = world(spread=0.0)
    assert overlap(logged.sample(2000, 0)).warnings() == []


def test_propensities_that_are_not_those_of_the_choices_are_noticed() -> None:
    logged = world(spread=0.0)
    sample = logged.sample(2000, 0)
    wrong = type(sample)(
        rewards=sample.rewards,
        actions=sample.actions,
        propensities=np.full(2000, 0.5),
        target=sample.target,
    )
    found = overlap(wrong)
    assert found.has_wrong_weights
    assert any("propensities are not those" in warning for warning in found.warnings())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"ess": 12.0}, "the effective sample size is 12.0"),
        ({"outside_support": 0.2, "mean_weight": 0.8}, "20% of the policy's decisions"),
        ({"cut_share": 0.03, "max_weight": 80.0}, "3.0% of the weights were cut, the largest"),
        ({"mean_weight": 0.7}, "importance weights average 0.70 where 1.00 is expected"),
    ],
)
def test_what_is_doubtful_is_said(changed: dict[str, float], expected: str) -> None:
    sound = {
        "ess": 500.0,
        "ess_share": 0.5,
        "max_weight": 4.0,
        "mean_weight": 1.0,
        "mean_weight_error": 0.02,
        "outside_support": 0.0,
        "cut_share": 0.0,
    }
    [warning] = Overlap(**{**sound, **changed}).warnings()
    assert expected in warning
