"""What is said of a limit on the queries below keep."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.hurt import holds, likely
from rl_rewriter.training.ladder.served import asked_for, single_hurts, single_within
from rl_rewriter.training.ladder.trial import Trial


def tried(n: int, hurt: float) -> Trial:
    trial = Trial()
    trial.add("keep", np.full(n, 0.5), hurt=0.0)
    trial.add("single", np.full(n, 0.7), hurt=hurt)
    return trial


@pytest.mark.parametrize(
    ("limit", "hurt", "told"),
    [
        (0.06, 0.05, "hurts 5.0% of 40, up to 9.7% with a standard error: keep is served"),
        (0.0, 0.0, "hurts 0.0% of 40, up to 2.4% with a standard error: keep is served"),
        (0.06, 0.1, "hurts 10.0% of 40, up to 15.8% with a standard error: keep is served"),
    ],
)
def test_why_a_single_action_is_not_served(limit: float, hurt: float, told: str) -> None:
    folds = group_folds([str(row) for row in range(40)], 5, seed=0)
    found = single_within(tried(40, hurt), "single", folds, limit)
    assert (found.rung, found.hurt, found.strength) == ("keep", 0.0, 0.0)
    assert not found.is_open.any()
    assert found.told == f"{asked_for(limit)}, and the best single action {told}"
    assert f"{likely(hurt, 40):.1%}" in told
    assert not holds(hurt, 40, limit)


def test_a_standard_error_is_that_of_groups() -> None:
    folds = group_folds([str(row // 2) for row in range(80)], 5, seed=0)
    assert single_hurts(0.06, 0.05, folds).endswith(
        "hurts 5.0% of 80 in 40 groups, up to 9.7% with a standard error"
    )


def test_a_single_action_that_hurts_few_enough_is_served() -> None:
    folds = group_folds([str(row) for row in range(40)], 5, seed=0)
    found = single_within(tried(40, 0.05), "single", folds, 0.1)
    assert (found.rung, found.told) == ("single", f"{asked_for(0.1)}: 5.0% do")


def test_keep_needs_no_reason() -> None:
    folds = group_folds([str(row) for row in range(40)], 5, seed=0)
    found = single_within(tried(40, 0.05), "keep", folds, 0.1)
    assert found.told == f"{asked_for(0.1)}: keep is served"
