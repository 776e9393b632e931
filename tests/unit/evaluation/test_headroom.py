"""Headroom: verdicts on tables whose truth is known, and choices that never see their own query."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.headroom import headroom, headroom_of
from rl_rewriter.evaluation.noise import noise_gain
from rl_rewriter.evaluation.power import queries_needed
from rl_rewriter.evaluation.sample import Sample
from rl_rewriter.evaluation.verdict import TOO_FEW
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


@pytest.mark.parametrize("luck", ["gain", "loss", "mixed"])
def test_few_queries_are_too_small_to_tell_whatever_luck_shows(luck: str) -> None:
    shift = {"gain": 0.5, "loss": -0.3, "mixed": 0.0}[luck]
    found = headroom(table_of(values(shift, shift, noise=0.1), states=STATES).subset(range(20)))
    assert found.verdict == "too_small"
    assert (found.predicted, found.predicted_ci95, found.predictable) == (None, None, None)
    if luck == "loss":  # even hindsight gains nothing worth having
        assert found.queries_needed is None
    else:
        assert (found.queries_needed or 0) >= TOO_FEW


def test_the_number_needed_is_that_of_a_paired_test() -> None:
    table = table_of(values(0.03, -0.2), states=STATES).subset(range(20))
    found = headroom(table)
    gains = table.values[:, 1] - table.values[:, 0]
    assert found.best_fixed == pytest.approx(table.values[:, 1].mean())
    assert found.queries_needed == queries_needed(gains, float(gains.mean()))


def test_few_queries_that_no_action_changes_have_nothing_to_learn() -> None:
    found = headroom(table_of(np.full((4, 3), 0.5)))
    assert (found.verdict, found.queries_needed) == ("nothing_to_learn", None)


def test_no_number_where_even_hindsight_gains_nothing_worth_having() -> None:
    perfect = np.ones((20, 3))
    perfect[0, 1] = 0.2  # actions differ, and none can gain
    found = headroom(table_of(perfect))
    assert (found.verdict, found.keep, found.oracle) == ("too_small", 1.0, 1.0)
    assert found.queries_needed is None


def test_queries_that_belong_together_count_as_one() -> None:
    groups = [f"need {row % 25}" for row in range(N)]
    found = headroom(table_of(by_state(0.5), states=STATES), groups=groups)
    assert (found.n_queries, found.n_groups, found.verdict) == (N, 25, "too_small")
    assert found.predicted is None
    assert found.queries_needed is not None
    assert found.queries_needed >= N / 25 * TOO_FEW


def test_a_number_is_told_where_a_gain_may_hide_and_nowhere_else() -> None:
    hidden = headroom(table_of(values(), states=STATES))
    assert (hidden.verdict, hidden.queries_needed is not None) == ("nothing_to_learn", True)
    assert (hidden.queries_needed or 0) > N
    for table in (by_state(0.2), values(0.02, 0.2), values(-0.3, -0.4, noise=0.1)):
        assert headroom(table_of(table, states=STATES)).queries_needed is None


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


def test_training_queries_of_their_own_choose_alone() -> None:
    train = table_of(by_state(0.2) + np.asarray([0.0, 0.0, 0.01]), states=STATES)
    test = table_of(values(0.3, 0.0), states=STATES)
    found = headroom(test, train=train)
    best = int(train.values.mean(axis=0).argmax())
    assert found.best_action == train.action_names[best]
    assert found.best_fixed == pytest.approx(test.values[:, best].mean())
    worse = dataclasses.replace(test, values=test.values[::-1, ::-1])
    assert headroom(worse, train=train).best_action == found.best_action
    assert headroom(test).best_action == "a1"


@pytest.mark.parametrize("folds", [-1, 0, 1])
def test_fewer_than_two_folds_are_refused(folds: int) -> None:
    with pytest.raises(InputError, match=f"at least two folds .+ got {folds}"):
        headroom(identity_task(40, 3), folds=folds)


@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_a_handful_of_queries_gives_figures_all_the_same(n_queries: int) -> None:
    table: RewardTable = table_of(by_state(0.2), states=STATES).subset(range(n_queries))
    found = headroom(table)
    assert np.isfinite([found.keep, found.best_fixed, found.oracle, found.oracle_corrected]).all()


def test_halves_correct_the_oracle_within_what_is_reached() -> None:
    """Halves that agree leave the oracle as it is; halves that contradict leave nothing of it."""
    table = table_of(by_state(0.2), states=STATES[:, 1:])
    agreeing = np.broadcast_to(table.values, (1, 2, *table.values.shape))
    found = headroom_of(Sample(table, halves=agreeing))
    assert found.oracle_correction == "half_judgements"
    assert found.oracle_corrected == pytest.approx(found.oracle)
    contradicting = np.stack([table.values, 1.0 - table.values])[None]
    left = headroom_of(Sample(table, halves=contradicting))
    assert left.predicted is not None
    assert left.oracle_corrected == max(left.keep, left.best_fixed, left.predicted)
    assert headroom(table).oracle_correction == "simulation"


def test_kinds_say_where_the_gain_sits() -> None:
    table = table_of(by_state(0.2), states=STATES)
    kinds = np.where(STATES[:, 0] > 0, "gaining", "losing").tolist()
    found = headroom_of(Sample(table, kinds=kinds))
    gaining, losing = found.by_kind["gaining"], found.by_kind["losing"]
    assert gaining.n + losing.n == N
    assert gaining.oracle - gaining.keep > losing.oracle - losing.keep + 0.1
    assert headroom(table).by_kind == {}


def test_the_gain_of_the_prediction_has_an_interval() -> None:
    found = headroom(table_of(by_state(0.2), states=STATES))
    assert found.predicted is not None
    assert found.predicted_ci95 is not None
    low, high = found.predicted_ci95
    assert 0.0 < low < found.predicted - found.best_fixed < high


N_WORLDS = 200


def test_equal_actions_are_rarely_called_better() -> None:
    """Every action is as good as keep on average, whatever a query's outcomes are."""
    rng = np.random.default_rng(0)
    called = 0
    for world in range(N_WORLDS):
        table = rng.normal(0.5, 0.15, (60, 1)) + rng.normal(0, 0.1, (60, 6))
        states = rng.standard_normal((60, 4))
        found = headroom(table_of(table, states=states), seed=world)
        called += found.verdict in ("one_action_is_enough", "worth_learning")
    assert called <= 17  # 5% of 200, plus 2.3 standard errors


def test_a_state_that_tells_nothing_is_rarely_worth_learning() -> None:
    """One action is better for all; states are dealt out at random, and groups are alike."""
    rng = np.random.default_rng(0)
    groups = [f"g{row // 3}" for row in range(120)]
    called = 0
    for world in range(N_WORLDS // 2):
        gains = np.repeat(rng.normal([0.0, 0.06, 0.02], 0.1, (40, 3)), 3, axis=0)
        states = np.repeat(rng.standard_normal((40, 4)), 3, axis=0)
        found = headroom(table_of(0.5 + gains, states=states), groups=groups, seed=world)
        called += found.verdict == "worth_learning"
    assert called <= 11  # 5% of 100, plus 2.7 standard errors
