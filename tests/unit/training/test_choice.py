"""A choice around what stands leaves it only for what states tell, and says what that is worth."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.choice import CLEAR, CLEAR_OVER_KEEP, learn_choice
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.hurt import likely
from tests.tables import identity_task, table_of

N = 300
TABLE = identity_task(N, 3)
FOLDS = group_folds([f"g{row}" for row in range(N)], 5, 0)


@pytest.mark.parametrize(("standing", "needed"), [(0, CLEAR_OVER_KEEP), (1, CLEAR), (2, CLEAR)])
def test_keep_is_left_for_a_clearer_gain_than_others(standing: int, needed: float) -> None:
    found = learn_choice(TABLE, standing, FOLDS)
    assert found.needed == needed
    assert found.is_clear
    assert found.gain == pytest.approx((found.values - TABLE.rewards[:, standing]).mean())


def test_an_action_that_is_impossible_is_never_taken() -> None:
    mask = np.ones((N, 3), dtype=np.bool_)
    mask[::2, 1] = False
    table = table_of(TABLE.values, states=TABLE.states, mask=mask)
    found = learn_choice(table, 1, FOLDS)  # not even where it is what stands
    taken = found.policy.distribution(table.states, table.mask).greedy()
    assert not (taken[::2] == 1).any()
    assert (taken[1::2] == 1).any()


def test_prices_lower_the_gain_and_hurt_nobody() -> None:
    """An equal ranking that costs something isn't below keep."""
    values = np.tile(TABLE.values[:, :1], 3)
    gains = np.where(TABLE.rewards > 0, 0.1, -0.05)
    gains[:, 0] = 0.0
    found = learn_choice(table_of(values, states=TABLE.states, rewards=gains), 0, FOLDS)
    assert found.hurt == 0.0
    assert (found.values < 0.0).any()


def test_errors_count_groups_and_not_queries() -> None:
    """Every query twice in one group says no more than once."""
    doubled = table_of(np.tile(TABLE.values, (2, 1)), states=np.tile(TABLE.states, (2, 1)))
    found = learn_choice(doubled, 0, group_folds([f"g{row % N}" for row in range(2 * N)], 5, 0))
    of_rows = float(found.values.std(ddof=1)) / (2 * N) ** 0.5
    assert found.standard_error == pytest.approx(2**0.5 * of_rows, rel=0.01)


def test_states_that_tell_nothing_leave_what_stands() -> None:
    shuffled = np.random.default_rng(3).permutation(N)
    table = table_of(TABLE.values, states=TABLE.states[shuffled])
    assert not learn_choice(table, 0, FOLDS).is_clear


def test_under_a_limit_those_who_gain_most_are_served() -> None:
    """The more a state promises, the less it hurts: all are too many, the best are few enough."""
    rng = np.random.default_rng(0)
    promise = rng.uniform(-1.0, 1.0, 2000)
    gains = np.where(rng.random(2000) < 0.5 + 0.5 * promise, 0.2, -0.2)
    values = np.stack([np.full(2000, 0.5), 0.5 + gains], axis=1)
    table = table_of(values, states=promise[:, None].astype(np.float32))
    folds = group_folds([str(row) for row in range(2000)], 5, 0)
    free, limited = learn_choice(table, 0, folds), learn_choice(table, 0, folds, 0.03)
    assert free.hurt > 0.06
    assert 0.0 < likely(limited.hurt, 2000) <= 0.03
    assert limited.is_clear
    assert 0.0 < limited.gain < free.gain
    served = limited.policy.distribution(table.states, table.mask).greedy() == 1
    assert served.mean() == pytest.approx((limited.actions == 1).mean(), abs=0.02)
    assert promise[served].min() > promise[~served].max() - 0.01


def test_under_a_limit_no_fold_is_served_as_a_whole() -> None:
    """Where states tell nothing, folds differ by the others' mean alone."""
    values = np.tile(np.asarray([[0.5, 0.9], [0.5, 0.4]]), (100, 1))
    table = table_of(values, states=np.zeros((200, 1), dtype=np.float32))
    folds = group_folds([str(row) for row in range(200)], 5, 0)
    found = learn_choice(table, 0, folds, 0.06)
    assert (found.hurt, found.gain, found.is_clear) == (0.0, 0.0, False)
    assert not found.actions.any()
