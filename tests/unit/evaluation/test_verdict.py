"""What follows from which signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rl_rewriter.evaluation.power import queries_needed
from rl_rewriter.evaluation.verdict import (
    TOO_FEW,
    Signs,
    is_better,
    needed_to_tell,
    smallest_gain,
    verdict_of,
)

OPEN: dict[str, Any] = {
    "n_groups": 200,
    "differs": True,
    "hindsight": 0.1,
    "hope": 0.02,
    "smallest": 0.005,
    "fixed_gains": False,
    "choosing_gains": False,
}
"""A large collection on which nothing is seen."""
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "nothing_to_learn"),
        ({"fixed_gains": True}, "one_action_is_enough"),
        ({"choosing_gains": True}, "worth_learning"),
        ({"choosing_gains": True, "fixed_gains": True}, "worth_learning"),
        ({"hindsight": 0.004, "fixed_gains": True}, "nothing_to_learn"),
        ({"n_groups": TOO_FEW - 1, "choosing_gains": True, "fixed_gains": True}, "too_small"),
        ({"n_groups": TOO_FEW - 1, "hindsight": 0.0}, "too_small"),
        ({"n_groups": 4, "differs": False, "hindsight": 0.0}, "nothing_to_learn"),
        ({"n_groups": 89}, "too_small"),
        ({"n_groups": 90}, "nothing_to_learn"),
        ({"n_groups": 89, "hope": 0.004}, "nothing_to_learn"),
        ({"n_groups": 89, "fixed_gains": True}, "one_action_is_enough"),
    ],
)
def test_verdicts(changes: dict[str, Any], verdict: str) -> None:
    assert verdict_of(Signs(**(OPEN | changes))) == verdict


def test_the_smallest_gain_is_half_a_percent_of_the_metrics_range() -> None:
    assert smallest_gain(np.asarray([[0.2, 0.9]])) == 0.005
    assert smallest_gain(np.asarray([[1.0, 3.0]])) == pytest.approx(0.015)


def test_better_is_worth_having_and_no_chance() -> None:
    steady = RNG.normal(0.02, 0.01, 50)
    assert is_better(steady, 0.005, None)
    assert not is_better(steady, 0.05, None)
    assert not is_better(-steady, 0.005, None)
    assert not is_better(RNG.normal(0.02, 1.0, 50), 0.005, None)
    assert not is_better(steady, 0.005, ["a"] * 25 + ["b"] * 25)


def test_queries_needed_are_those_of_the_best_action() -> None:
    gains = np.column_stack([np.zeros(100), RNG.normal(-0.1, 0.1, 100), RNG.normal(0.02, 0.2, 100)])
    assert needed_to_tell(gains, 0.03, 0.005, None) == queries_needed(gains[:, 2], 0.03)
    assert needed_to_tell(gains, -0.01, 0.005, None) == queries_needed(gains[:, 2], 0.005)


def test_never_fewer_than_a_verdict_needs() -> None:
    lucky = np.column_stack([np.zeros(20), RNG.normal(0.5, 0.01, 20)])
    assert needed_to_tell(lucky, 0.5, 0.005, None) == TOO_FEW
    paired = [f"g{row // 2}" for row in range(20)]
    assert needed_to_tell(lucky, 0.5, 0.005, paired) == 2 * TOO_FEW


def test_no_number_where_no_action_changes_anything() -> None:
    assert needed_to_tell(np.zeros((20, 3)), 0.0, 0.005, None) is None
