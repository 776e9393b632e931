"""Choices never hear of the outcomes of the queries that they are made for."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.evaluation.choices import (
    PENALTIES,
    Problem,
    fixed_choices,
    learned_choices,
    needs_the_state,
)
from rl_rewriter.evaluation.folds import cross_validation, given_split

N = 200
RNG = np.random.default_rng(0)
STATES = RNG.standard_normal((N, 3))
NOISE = RNG.normal(0, 0.1, (N, 3))


def problem(
    values: np.ndarray,
    states: np.ndarray = STATES,
    *,
    groups: list[str] | None = None,
    mask: np.ndarray | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Problem:
    """A cross-validated one."""
    division = cross_validation(groups, len(values), folds, seed)
    allowed = np.ones(values.shape, np.bool_) if mask is None else mask
    return Problem.of(states, values, allowed, division)


def told_by_state(gain: float = 0.2) -> np.ndarray:
    """Action 1 gains where the first number of the state is positive; else keep is best."""
    values = np.asarray([0.5, 0.5, 0.2]) + NOISE
    values[:, 1] = values[:, 0] + gain * np.sign(STATES[:, 0])
    return values


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 5), st.integers(2, 6), st.integers(0, 999))
def test_choices_for_a_fold_do_not_depend_on_its_outcomes(fold: int, folds: int, seed: int) -> None:
    """Outcomes of one fold's queries are exchanged for others: its choices stay the same."""
    rng = np.random.default_rng(seed)
    values, states = rng.random((60, 4)), rng.standard_normal((60, 3))
    groups = [f"g{row // 2}" for row in range(60)]
    before = problem(values, states, groups=groups, folds=folds, seed=seed)
    inside = before.folds.number == fold % folds
    changed = values.copy()
    changed[inside] = rng.permutation(values[inside][:, ::-1])
    after = problem(changed, states, groups=groups, folds=folds, seed=seed)

    first, second = learned_choices(before), learned_choices(after)

    np.testing.assert_array_equal(first.fixed[inside], second.fixed[inside])
    np.testing.assert_array_equal(first.predicted[inside], second.predicted[inside])
    assert first.penalties[fold % folds] == second.penalties[fold % folds]


def test_what_a_query_would_say_of_itself_is_not_heard() -> None:
    """States that name each query: whoever learns from the query itself reaches the best."""
    values = np.random.default_rng(1).normal(0.5, 0.2, (100, 4))
    found = learned_choices(problem(values, 100 * np.eye(100)))
    reached = values[np.arange(100), found.predicted].mean()
    assert values.max(axis=1).mean() > values[:, 0].mean() + 0.15
    assert abs(reached - values[:, 0].mean()) < 0.06


def test_the_single_action_is_the_best_of_the_other_folds() -> None:
    values = 0.5 + NOISE
    found = problem(values)
    chosen = fixed_choices(found)
    for fold in range(5):
        inside = found.folds.number == fold
        assert set(chosen[inside]) == {int(found.gains[~inside].mean(axis=0).argmax())}


def test_keep_wins_ties_and_where_nothing_can_be_learned_from() -> None:
    assert (fixed_choices(problem(np.full((20, 3), 0.5), STATES[:20])) == 0).all()
    alone = problem(told_by_state()[:4], STATES[:4], groups=["one"] * 4)
    assert (fixed_choices(alone) == 0).all()


def test_the_state_is_used_where_it_tells_and_left_where_it_does_not() -> None:
    told = learned_choices(problem(told_by_state()))
    assert (told.predicted == (STATES[:, 0] > 0)).mean() > 0.75
    assert max(told.penalties.values()) < 1e3
    better = np.tile([0.5, 0.7, 0.4], (N, 1)) + NOISE
    blind = learned_choices(problem(better))
    np.testing.assert_array_equal(blind.predicted, 1)


def test_the_scale_of_the_state_does_not_matter() -> None:
    scaled = STATES * [1000.0, 0.001, 1.0] + [5.0, -3.0, 100.0]
    first, second = (learned_choices(problem(told_by_state(), s)) for s in (STATES, scaled))
    np.testing.assert_array_equal(first.predicted, second.predicted)
    assert first.penalties == second.penalties


def test_masked_actions_are_not_predicted() -> None:
    """Action 1 is best by far, 2 second, and the state doesn't tell where 1 is impossible."""
    mask = np.ones((N, 3), np.bool_)
    mask[::2, 1] = False
    values = np.where(mask, np.asarray([0.5, 1.4, 0.6]) + NOISE, 0.5)
    found = learned_choices(problem(values, mask=mask)).predicted
    assert mask[np.arange(N), found].all()
    assert (found[mask[:, 1]] == 1).mean() > 0.9
    assert (found[~mask[:, 1]] == 2).mean() > 0.9


def test_a_given_split_learns_from_the_training_rows_alone() -> None:
    values = np.concatenate([told_by_state(), told_by_state()[:, [0, 2, 1]]])
    states = np.concatenate([STATES, STATES])
    division = given_split(None, N, N, 5, 0)
    found = learned_choices(Problem.of(states, values, np.ones((2 * N, 3), np.bool_), division))
    assert (found.fixed[:N] == -1).all()
    assert (found.predicted[:N] == -1).all()
    assert (found.predicted[N:] == (STATES[:, 0] > 0)).mean() > 0.75
    assert list(found.penalties) == [5]
    assert set(found.penalties.values()) <= set(PENALTIES)


def test_a_gain_that_needs_the_state_is_told_from_one_that_does_not() -> None:
    told = problem(told_by_state())
    assert needs_the_state(told, learned_choices(told))
    split = Problem.of(STATES, told_by_state(), told.mask, given_split(None, 150, 50, 5, 0))
    assert needs_the_state(split, learned_choices(split))


def test_without_information_in_the_state_the_check_holds_its_level() -> None:
    rng = np.random.default_rng(0)
    passed = 0
    for run in range(100):
        groups = [f"g{row // 2}" for row in range(60)]
        values = np.repeat(rng.normal(0.5, 0.1, (30, 4)), 2, axis=0)
        states = rng.standard_normal((60, 3))
        null = problem(values, states, groups=groups, folds=3, seed=run)
        passed += needs_the_state(null, learned_choices(null), seed=run)
    assert passed <= 11  # 5% of 100, plus 2.7 standard errors
