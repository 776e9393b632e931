"""Headroom: verdicts on tables whose truth is known, and choices that never see their own query."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.headroom import TOO_FEW, _choices, headroom, noise_gain
from tests.tables import identity_task, table_of

N = 200
RNG = np.random.default_rng(0)
STATES = RNG.standard_normal((N, 3))
NOISE = RNG.normal(0, 0.1, (N, 3))
NOISE -= NOISE.mean(axis=0)


def values(a1: float = 0.0, a2: float = 0.0, *, noise: float = 1.0) -> np.ndarray:
    """Keep at about 0.5, two actions beside it, and noise that no state tells."""
    return np.asarray([0.5, 0.5 + a1, 0.5 + a2]) + noise * NOISE


def by_state(gain: float) -> np.ndarray:
    """Action a1 gains where the first number of the state is positive, and loses elsewhere."""
    table = values()
    table[:, 1] = table[:, 0] + gain * np.sign(STATES[:, 0])
    return table


def test_nothing_to_learn_where_all_actions_are_alike() -> None:
    found = headroom(table_of(np.tile(RNG.random((N, 1)), (1, 3)), states=STATES))
    assert found.verdict == "nothing_to_learn"
    assert found.differ_share == 0.0
    assert found.oracle == found.oracle_corrected == found.keep == found.best_fixed
    assert found.predictable is None


def test_nothing_to_learn_where_actions_differ_by_chance_alone() -> None:
    found = headroom(table_of(values(), states=STATES))
    assert found.verdict == "nothing_to_learn"
    assert found.differ_share == 1.0
    assert found.oracle > found.keep + 0.07
    assert found.oracle_corrected == pytest.approx(found.keep, abs=0.02)


def test_nothing_to_learn_where_every_action_hurts() -> None:
    found = headroom(table_of(values(-0.3, -0.4, noise=0.1), states=STATES))
    assert found.verdict == "nothing_to_learn"
    assert found.best_action == "keep"
    assert found.best_fixed == found.keep


def test_one_action_is_enough_where_it_is_better_for_all() -> None:
    found = headroom(table_of(values(0.02, 0.2), states=STATES))
    assert found.verdict == "one_action_is_enough"
    assert found.best_action == "a2"
    assert found.best_fixed == pytest.approx(values(0.02, 0.2)[:, 2].mean())
    assert found.best_fixed_ci95[0] < found.best_fixed < found.best_fixed_ci95[1]


def test_worth_learning_where_the_state_tells_the_best_action() -> None:
    found = headroom(table_of(by_state(0.2), states=STATES))
    assert found.verdict == "worth_learning"
    assert found.predicted is not None
    assert found.predicted > found.best_fixed + 0.05
    assert found.predictable is not None
    assert 0.5 < found.predictable < 1.0


def test_a_gain_that_is_reached_counts_though_chance_could_explain_the_oracle() -> None:
    """Gains and losses of one size look like coins to the corrected ceiling."""
    coins = np.full((N, 2), 0.5)
    coins[:, 1] += 0.2 * np.sign(STATES[:, 0])
    found = headroom(table_of(coins, states=STATES))
    assert found.oracle - noise_gain(coins) == pytest.approx(found.keep, abs=0.01)
    assert found.verdict == "worth_learning"
    assert found.predicted is not None
    assert found.oracle_corrected >= found.predicted > found.keep + 0.08


def test_the_state_must_tell_it() -> None:
    blind = headroom(table_of(by_state(0.2), states=STATES[:, 1:]))
    assert blind.verdict != "worth_learning"


def test_few_queries_are_too_small_to_tell() -> None:
    rows = range(TOO_FEW - 1)
    found = headroom(table_of(by_state(0.5), states=STATES).subset(rows))
    assert found.verdict == "too_small"
    assert found.predicted is None
    assert found.predictable is None
    nothing = headroom(table_of(values(-0.3, -0.3, noise=0.1), states=STATES).subset(rows))
    assert nothing.verdict == "nothing_to_learn"


def test_a_gain_below_half_a_percent_of_the_metric_is_nothing() -> None:
    assert headroom(table_of(values(0, 0.004, noise=0), states=STATES)).verdict == (
        "nothing_to_learn"
    )
    assert headroom(table_of(values(0, 0.006, noise=0), states=STATES)).verdict == (
        "one_action_is_enough"
    )


def test_figures_are_means_over_the_queries() -> None:
    table = table_of(by_state(0.2), states=STATES)
    found = headroom(table)
    assert found.n_queries == N
    assert found.keep == pytest.approx(table.values[:, 0].mean())
    assert found.actions == pytest.approx(
        dict(zip(table.action_names, table.values.mean(axis=0), strict=True))
    )
    assert found.oracle == pytest.approx(table.values.max(axis=1).mean())
    assert found.keep <= found.oracle_corrected <= found.oracle


def test_masked_actions_are_not_predicted() -> None:
    """Action a1 is best by far, a2 second, and the state doesn't tell where a1 is impossible."""
    mask = np.ones((N, 3), np.bool_)
    mask[::2, 1] = False
    table = table_of(np.where(mask, values(0.9, 0.1), values()[:, :1]), states=STATES, mask=mask)
    _, predicted = _choices(table, table.query_ids, None, 5, 0)
    assert predicted is not None
    assert mask[np.arange(N), predicted].all()
    assert (predicted[mask[:, 1]] == 1).mean() > 0.9
    assert (predicted[~mask[:, 1]] == 2).mean() > 0.9


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 4), st.integers(2, 6), st.integers(0, 999))
def test_choices_for_a_query_do_not_depend_on_its_own_outcomes(
    chosen_fold: int, folds: int, seed: int
) -> None:
    """Outcomes of one fold's queries are exchanged for others: its choices stay the same."""
    rng = np.random.default_rng(seed)
    table = table_of(rng.random((60, 4)), states=rng.standard_normal((60, 3)))
    groups = [f"g{row // 2}" for row in range(60)]
    fold = _folds_of(groups, folds, seed)
    inside = fold == chosen_fold % folds
    changed = table.values.copy()
    changed[inside] = rng.permutation(changed[inside][:, ::-1])
    other = dataclasses.replace(table, values=changed)

    before, after = (_choices(t, groups, None, folds, seed) for t in (table, other))

    assert before[1] is not None
    assert after[1] is not None
    np.testing.assert_array_equal(before[0][inside], after[0][inside])
    np.testing.assert_array_equal(before[1][inside], after[1][inside])
    assert (before[1][~inside] != after[1][~inside]).any()


def _folds_of(groups: list[str], folds: int, seed: int) -> np.ndarray:
    """Which fold each query is in, seen from outside: where a poisoned group isn't learned from."""
    names = sorted(set(groups))
    fold_of: dict[str, int] = {}
    for name in names:
        if name in fold_of:
            continue
        number = len(set(fold_of.values()))
        together = _tested_with(groups, name, folds, seed)
        fold_of.update(dict.fromkeys(together, number))
    return np.asarray([fold_of[group] for group in groups])


def _tested_with(groups: list[str], name: str, folds: int, seed: int) -> set[str]:
    """Groups whose single action ignores that ``name`` makes action a1 the best by far."""
    loud = np.zeros((len(groups), 2))
    loud[[group == name for group in groups], 1] = 1.0
    fixed, _ = _choices(table_of(loud), groups, None, folds, seed)
    return {group for group, action in zip(groups, fixed, strict=True) if action == 0}


def test_what_a_query_would_say_of_itself_is_not_heard() -> None:
    """States that name each query: whoever learns from the query itself reaches the oracle."""
    noise = np.random.default_rng(1).normal(0.5, 0.2, (100, 4))
    found = headroom(table_of(noise, states=100 * np.eye(100)))
    assert found.predicted is not None
    assert found.oracle > found.keep + 0.15
    assert abs(found.predicted - found.keep) < 0.06


def test_training_queries_of_their_own_choose_alone() -> None:
    train = table_of(by_state(0.2), states=STATES)
    test = table_of(values(0.3, 0.0), states=STATES)
    found = headroom(test, train=train)
    best = int(train.values.mean(axis=0).argmax())
    assert found.best_action == train.action_names[best]
    assert found.best_fixed == pytest.approx(test.values[:, best].mean())
    worse = dataclasses.replace(test, values=test.values[::-1, ::-1])
    assert headroom(worse, train=train).best_action == found.best_action
    assert headroom(test).best_action == "a1"


def test_noise_gain_is_what_the_best_of_equal_actions_seems_to_gain() -> None:
    rng = np.random.default_rng(0)
    for n_actions in (2, 5, 20):
        noise = np.concatenate(
            [np.full((2000, 1), 0.5), 0.5 + rng.normal(0, 0.1, (2000, n_actions - 1))], axis=1
        )
        seeming = float(noise.max(axis=1).mean() - 0.5)
        assert noise_gain(noise) == pytest.approx(seeming, rel=0.05)


def test_noise_gain_counts_correlated_actions_once() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(0, 0.1, (500, 1))
    copies = 0.5 + np.concatenate([np.zeros((500, 1)), *[one] * 10], axis=1)
    assert noise_gain(copies) == pytest.approx(noise_gain(copies[:, :2]), rel=1e-9)


def test_noise_gain_ignores_what_an_action_gains_on_average() -> None:
    assert noise_gain(values(0.3, -0.2)) == pytest.approx(noise_gain(values()))
    assert noise_gain(np.tile([0.5, 0.9, 0.1], (N, 1))) == pytest.approx(0.0, abs=1e-12)


def test_noise_gain_grows_with_noise_and_is_drawn_by_its_seed() -> None:
    assert noise_gain(values(noise=2.0)) > 1.5 * noise_gain(values(noise=1.0)) > 0
    assert noise_gain(values(), seed=1) == noise_gain(values(), seed=1)


@pytest.mark.parametrize("folds", [-1, 0, 1])
def test_fewer_than_two_folds_are_refused(folds: int) -> None:
    with pytest.raises(InputError, match=f"at least two folds .+ got {folds}"):
        headroom(identity_task(40, 3), folds=folds)


@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_a_handful_of_queries_gives_figures_all_the_same(n_queries: int) -> None:
    table: RewardTable = table_of(by_state(0.2), states=STATES).subset(range(n_queries))
    found = headroom(table)
    assert np.isfinite([found.keep, found.best_fixed, found.oracle, found.oracle_corrected]).all()
