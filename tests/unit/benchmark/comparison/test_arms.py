"""What each arm chooses on tables made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.arms import (
    BestFixed,
    LearnedPolicy,
    OneAction,
    Oracle,
    RandomAction,
    chosen_by,
    usual_arms,
)
from rl_rewriter.benchmark.comparison.fits import Fit
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.types import Matrix
from tests.tables import table_of
from tests.unit.benchmark.comparison.conftest import features

TRAIN = table_of([[0.2, 0.9, 0.1], [0.4, 0.3, 0.5], [0.5, 0.1, 0.6]])
HELD_OUT = table_of(
    [[0.5, 0.5, 0.9], [0.3, 0.1, 0.2], [0.1, 0.1, 0.1]],
    states=[[0, 1, 2], [0, 2, 1], [2, 1, 5]],
    mask=[[True, True, True], [True, True, True], [True, True, False]],
)
RNG = np.random.default_rng(0)


def fit(names: tuple[str, ...], weight: Matrix, *, mean: float = 0.0) -> Fit:
    """A policy whose logits are a matrix times the state."""
    width = weight.shape[1]
    policy = MlpPolicy((Layer(weight, np.zeros(len(weight), np.float32)),))
    return Fit(
        fold=0,
        seed=0,
        policy=policy,
        features=features(width).fitted_on(
            np.stack([np.full(width, mean - 1.0), np.full(width, mean + 1.0)])
        ),
        action_names=names,
        looks=(),
        seconds=0.0,
    )


def test_one_action_is_taken_everywhere() -> None:
    assert OneAction("a2").choose(TRAIN, HELD_OUT, RNG).tolist() == [[2, 2, 2]]


def test_the_best_single_action_is_chosen_on_training_queries() -> None:
    assert TRAIN.values.mean(axis=0) == pytest.approx([1.1 / 3, 1.3 / 3, 1.2 / 3])
    assert BestFixed().choose(TRAIN, HELD_OUT, RNG).tolist() == [[1, 1, 1]]


def test_keep_is_the_best_single_action_on_ties() -> None:
    flat = table_of([[0.5, 0.5], [0.1, 0.1]])
    assert BestFixed().choose(flat, HELD_OUT, RNG).tolist() == [[0, 0, 0]]


def test_the_oracle_knows_the_held_out_values_and_keeps_on_ties() -> None:
    assert Oracle().choose(TRAIN, HELD_OUT, RNG).tolist() == [[2, 0, 0]]


def test_random_takes_possible_actions_alone_and_all_of_them() -> None:
    drawn = RandomAction(draws=300).choose(TRAIN, HELD_OUT, np.random.default_rng(1))
    assert drawn.shape == (300, 3)
    shares = [np.bincount(drawn[:, column], minlength=3) / 300 for column in range(3)]
    assert shares[0] == pytest.approx([1 / 3] * 3, abs=0.1)
    assert shares[2] == pytest.approx([1 / 2, 1 / 2, 0.0], abs=0.1)
    again = RandomAction(draws=300).choose(TRAIN, HELD_OUT, np.random.default_rng(1))
    assert (drawn == again).all()


def test_a_policy_takes_its_most_probable_possible_action() -> None:
    identity = fit(("keep", "a1", "a2"), np.eye(3, dtype=np.float32))
    chosen, probability = chosen_by(identity, HELD_OUT)
    assert chosen.tolist() == [2, 1, 0]  # the third prefers a2, which is masked
    logits = np.array([0.0, 1.0, 2.0])
    assert probability[0] == pytest.approx(np.exp(2.0) / np.exp(logits).sum())


def test_states_are_scaled_as_in_the_policys_training() -> None:
    """A mean of 5 turns the second state's values below 0, and the weights prefer those."""
    turned = fit(("keep", "a1", "a2"), -np.eye(3, dtype=np.float32), mean=5.0)
    assert chosen_by(turned, HELD_OUT)[0].tolist() == [0, 0, 1]


def test_a_policy_of_fewer_actions_chooses_among_its_own() -> None:
    fewer = fit(("keep", "a2"), np.eye(2, 3, dtype=np.float32))
    assert chosen_by(fewer, HELD_OUT)[0].tolist() == [2, 2, 0]


def test_each_seed_has_its_row() -> None:
    eye = np.eye(3, dtype=np.float32)
    policies = LearnedPolicy((fit(("keep", "a1", "a2"), eye), fit(("keep", "a1", "a2"), -eye)))
    assert policies.choose(TRAIN, HELD_OUT, RNG).tolist() == [[2, 1, 0], [0, 0, 1]]


def test_the_usual_arms() -> None:
    names = [arm.name for arm in usual_arms(("keep", "a1"), [])]
    assert names == ["keep", "a1", "random", "best_fixed", "oracle"]
    policy = fit(("keep", "a1"), np.eye(2, dtype=np.float32))
    assert "policy" in [arm.name for arm in usual_arms(("keep", "a1"), [policy])]
