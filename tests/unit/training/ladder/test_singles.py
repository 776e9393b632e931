"""The ladder without blends."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.singles import cross_fit_single, fit_singles

N = 200
GROUPS = [f"g{row}" for row in range(N)]


def values_of(worse: int) -> np.ndarray:
    """Keep, and an action that half of the queries are better by and some worse."""
    gains = np.where(np.arange(N) < N // 2, 0.5, 0.0)
    gains[N // 2 : N // 2 + worse] = -0.1
    return np.stack([np.full(N, 0.4), 0.4 + gains], axis=1)


def test_the_best_single_action_is_chosen_on_the_other_folds() -> None:
    folds = group_folds(["a", "b"], 2, seed=0)
    values = np.asarray([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert cross_fit_single(values, folds).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("worse", "limit", "rung"),
    [(20, None, "single"), (2, 0.06, "single"), (20, 0.06, "keep")],
)
def test_the_best_single_action_stands_where_it_hurts_few_enough(
    worse: int, limit: float | None, rung: str
) -> None:
    found = fit_singles(values_of(worse), GROUPS, LadderConfig(hurt_limit=limit), seed=0)
    assert (found.rung, found.report.rung, found.single) == (rung, rung, 1)
    assert not found.is_blend
    assert found.report.hurt["single"] == worse / N
    assert found.is_open.all() == (rung == "single")
    assert np.array_equal(found.served, found.cross_fitted[found.rung])
    assert bool(found.report.on_limit) is (limit is not None)


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="values of single actions must be finite"):
        fit_singles(np.full((N, 2), np.nan), GROUPS, LadderConfig(), seed=0)
