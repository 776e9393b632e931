"""Paired comparisons of two systems."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.comparison import compare, corrected
from rl_rewriter.evaluation.significance import (
    bootstrap_interval,
    holm,
    randomisation_test,
    t_test,
)

BASELINE = np.asarray([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
SYSTEM = np.asarray([0.9, 0.8, 0.5, 0.5 + 1e-12, 0.1, 0.7, 0.5, 0.5 - 1e-12])


def test_what_is_hurt_and_what_is_helped() -> None:
    found = compare(SYSTEM, BASELINE)
    assert found.helped_share == 3 / 8
    assert found.hurt_share == 1 / 8
    assert found.delta == pytest.approx((0.4 + 0.3 - 0.4 + 0.2) / 8)


def test_test_and_interval_are_of_the_paired_differences() -> None:
    groups = list("aabbccdd")
    found = compare(SYSTEM, BASELINE, groups=groups, seed=3)
    differences = SYSTEM - BASELINE
    assert found.p_value == randomisation_test(differences, groups=groups, seed=3)
    assert found.ci95 == bootstrap_interval(differences, groups=groups, seed=3)
    assert found.p_t == t_test(differences, groups=groups)
    assert found.p_holm == found.p_value


def test_exchanging_the_systems_turns_everything_round() -> None:
    forth, back = compare(SYSTEM, BASELINE), compare(BASELINE, SYSTEM)
    assert back.delta == -forth.delta
    assert back.p_value == forth.p_value
    assert back.p_t == pytest.approx(forth.p_t)
    assert (back.hurt_share, back.helped_share) == (forth.helped_share, forth.hurt_share)
    assert back.ci95 == pytest.approx((-forth.ci95[1], -forth.ci95[0]), abs=0.01)


def test_a_system_against_itself() -> None:
    found = compare(SYSTEM, SYSTEM)
    assert (found.delta, found.p_value, found.ci95) == (0.0, 1.0, (0.0, 0.0))
    assert (found.hurt_share, found.helped_share) == (0.0, 0.0)
    assert (found.p_t, found.worst_decile) == (1.0, 0.0)


def test_the_worst_decile_is_the_mean_of_the_lowest_tenth() -> None:
    assert compare(SYSTEM, BASELINE).worst_decile == pytest.approx(-0.4)  # one query of eight
    ramp = np.arange(-10.0, 20.0)  # 30 queries: the lowest three are -10, -9, -8
    assert compare(ramp[::-1], np.zeros(30)).worst_decile == pytest.approx(-9.0)


def test_correction_is_over_all_comparisons_made_together() -> None:
    rng = np.random.default_rng(0)
    made = [compare(rng.normal(shift, 1.0, 12), np.zeros(12)) for shift in (1.0, 0.6, 0.1)]
    adjusted = corrected(made)
    assert [c.p_holm for c in adjusted] == holm([c.p_value for c in made])
    assert [c.p_value for c in adjusted] == [c.p_value for c in made]
    assert adjusted[0].p_holm > made[0].p_holm


def test_the_json_object_is_that_of_the_results() -> None:
    found = compare(SYSTEM, BASELINE)
    assert found.to_json() == {
        "delta": found.delta,
        "p_value": found.p_value,
        "p_t": found.p_t,
        "p_holm": found.p_holm,
        "ci95": [found.ci95[0], found.ci95[1]],
    }


def test_systems_of_different_queries_cannot_be_compared() -> None:
    with pytest.raises((InputError, ValueError)):
        compare(SYSTEM, BASELINE[:3])
