"""The best of many equal actions is no better than keep."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.evaluation.selection import chosen_action_test
from rl_rewriter.evaluation.significance import randomisation_test


def test_one_candidate_is_tested_as_it_is() -> None:
    gains = np.random.default_rng(0).normal(0.2, 1.0, (60, 1))
    one_sided = randomisation_test(gains[:, 0]) / 2
    assert chosen_action_test(gains, 0, draws=20_000) == pytest.approx(one_sided, abs=0.01)


@pytest.mark.parametrize("is_grouped", [False, True])
def test_the_luckiest_of_equal_actions_is_rarely_better(is_grouped: bool) -> None:
    rng = np.random.default_rng(0)
    corrected = naive = 0
    for run in range(200):
        if is_grouped:
            gains = np.repeat(rng.normal(size=(40, 10)), 3, axis=0)
            groups = [f"g{row // 3}" for row in range(120)]
        else:
            gains, groups = rng.normal(size=(80, 10)), None
        best = int(gains.mean(axis=0).argmax())
        p_value = chosen_action_test(gains, best, groups=groups, draws=400, seed=run)
        corrected += p_value <= 0.05
        naive += randomisation_test(gains[:, best], groups=groups, draws=400, seed=run) <= 0.1
    assert corrected <= 17  # 5% of 200, plus 2.3 standard errors
    assert naive > 60


def test_copies_of_one_action_are_one_candidate() -> None:
    one = np.random.default_rng(0).normal(0.2, 1.0, (60, 1))
    assert chosen_action_test(np.tile(one, (1, 20)), 3) == chosen_action_test(one, 0)


def test_actions_that_hurt_or_do_nothing_cost_no_power() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(0.3, 1.0, (100, 1))
    hurting = rng.normal(-9.0, 3.0, (100, 1))
    alone = chosen_action_test(good, 0)
    assert alone < 0.01
    beside = chosen_action_test(np.column_stack([np.zeros(100), hurting, good]), 2)
    assert beside == pytest.approx(2 * alone, abs=0.01)


def test_keep_itself_is_never_better() -> None:
    gains = np.random.default_rng(0).normal(0.3, 1.0, (50, 3))
    gains[:, 0] = 0.0
    assert chosen_action_test(gains, 0) == 1.0
