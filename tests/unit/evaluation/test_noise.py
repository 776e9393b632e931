"""Corrections of the per-query best on worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rl_rewriter.evaluation.noise import (
    FEW_HALVED,
    corrected_best,
    noise_gain,
    retained_share,
)

Floats = npt.NDArray[np.float64]
N, REPEATS = 1500, 5


def found_documents(
    chances: Floats, n_relevant: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Recall ``(n, m)`` of actions that find each relevant document by chance, and by halves.

    Args:
        chances: Probability of finding a document, ``(n, m)``.
        n_relevant: Relevant documents of each query.
        rng: Draws what is found.
    """
    found = rng.random((*chances.shape, n_relevant)) < chances[..., None]
    halves = np.empty((REPEATS, 2, *chances.shape))
    for repeat in halves:
        order = rng.permuted(np.tile(np.arange(n_relevant), (len(chances), 1)), axis=1)
        shuffled = np.take_along_axis(found, order[:, None, :], axis=2)
        repeat[0] = shuffled[..., : n_relevant // 2].mean(axis=-1)
        repeat[1] = shuffled[..., n_relevant // 2 :].mean(axis=-1)
    return found.mean(axis=-1), halves


def chances(
    rng: np.random.Generator, n_actions: int, interaction: float, head_start: float
) -> Floats:
    """Probabilities by query and action; action 0 has a head start over all others."""
    logits = rng.normal(-0.4, 1.0, (N, 1)) + interaction * rng.normal(size=(N, n_actions))
    logits[:, 0] += head_start
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


@pytest.mark.parametrize("n_actions", [5, 30])
@pytest.mark.parametrize("n_relevant", [2, 3, 8])
@pytest.mark.parametrize("head_start", [0.0, 0.8])
def test_equal_actions_are_left_with_next_to_nothing(
    n_actions: int, n_relevant: int, head_start: float
) -> None:
    rng = np.random.default_rng(0)
    truth = chances(rng, n_actions, 0.0, head_start)
    values, halves = found_documents(truth, n_relevant, rng)
    corrected, made = corrected_best(values, np.zeros(N, np.intp), halves)
    level, best = values[:, 0].mean(), values.max(axis=1).mean()
    assert made == "half_judgements"
    assert best > level + 0.05
    assert level <= corrected < level + 0.15 * (best - level)


@pytest.mark.parametrize("n_actions", [5, 30])
@pytest.mark.parametrize("n_relevant", [2, 4, 8])
@pytest.mark.parametrize("interaction", [1.0, 2.0])
def test_what_remains_is_what_choosing_by_the_judgements_is_worth(
    n_actions: int, n_relevant: int, interaction: float
) -> None:
    """Known truth: the probabilities of the actions that look best by all judgements."""
    rng = np.random.default_rng(0)
    truth = chances(rng, n_actions, interaction, 0.0)
    values, halves = found_documents(truth, n_relevant, rng)
    top = values == values.max(axis=1, keepdims=True)
    level = truth[:, 0].mean()
    worth = np.where(top[:, 0], truth[:, 0], (truth * top).sum(axis=1) / top.sum(axis=1)).mean()

    corrected, _ = corrected_best(values, np.zeros(N, np.intp), halves)

    assert corrected - level == pytest.approx(worth - level, rel=0.25, abs=0.01)
    assert corrected < truth.max(axis=1).mean()
    if interaction == 2.0 and n_relevant == 8:
        assert corrected - level > 0.7 * (truth.max(axis=1).mean() - level)


def test_a_share_by_hand() -> None:
    """Halves agree on the first query and not on the second."""
    first = np.asarray([[0.2, 0.7], [0.5, 0.9]])
    second = np.asarray([[0.2, 0.6], [0.5, 0.1]])
    halves = np.asarray([[first, second]])
    # By the first half, action 1 twice: 0.4 - 0.4 of a possible 0.4 + 0. By the second, action 1
    # and keep: 0.5 + 0 of a possible 0.5 + 0.4.
    share = (0.0 + 0.5) / (0.4 + 0.9)
    assert retained_share(halves, np.zeros(2, np.intp)) == pytest.approx(2 * share / (1 + share))


def test_ties_go_to_the_single_action_or_are_shared() -> None:
    tied = np.asarray([[1.0, 1.0, 1.0]])
    scored = np.asarray([[0.0, 0.6, 0.2]])
    halves = np.asarray([[tied, scored]])
    assert retained_share(halves, np.asarray([0])) == 0.0
    above = np.asarray([[[[0.0, 1.0, 1.0]], scored]])
    # Chosen by the first half: 0.4 of 0.6; by the second: action 1, all of 1.
    share = (0.4 + 1.0) / (0.6 + 1.0)
    assert retained_share(above, np.asarray([0])) == pytest.approx(2 * share / (1 + share))


def test_shares_stay_between_0_and_1() -> None:
    opposed = np.asarray([[[[0.0, 1.0]], [[1.0, 0.0]]]])
    assert retained_share(opposed, np.asarray([0])) == 0.0
    agreed = np.asarray([[[[0.0, 1.0]], [[0.0, 1.0]]]])
    assert retained_share(agreed, np.asarray([0])) == 1.0
    alike = np.full((1, 2, 4, 3), 0.5)
    assert retained_share(alike, np.zeros(4, np.intp)) == 0.0


def test_simulation_steps_in_where_few_queries_can_be_halved() -> None:
    rng = np.random.default_rng(0)
    values, halves = found_documents(chances(rng, 5, 2.0, 0.0), 4, rng)
    fixed = np.zeros(N, np.intp)
    simulated = values.max(axis=1).mean() - noise_gain(values)
    assert corrected_best(values, fixed, None)[0] == pytest.approx(simulated)
    halves[:, :, : N // 2] = np.nan
    assert corrected_best(values, fixed, halves)[1] == "half_judgements"
    halves[:, :, : N // 2 + 1] = np.nan
    assert corrected_best(values, fixed, halves)[1] == "simulation"
    assert corrected_best(values, fixed, halves)[0] == pytest.approx(simulated)
    few = FEW_HALVED - 1
    assert corrected_best(values[-few:], fixed[:few], halves[:, :, -few:])[1] == "simulation"


def test_noise_gain_is_what_the_best_of_equal_actions_seems_to_gain() -> None:
    rng = np.random.default_rng(0)
    for n_actions in (2, 5, 20):
        noise = np.concatenate(
            [np.full((2000, 1), 0.5), 0.5 + rng.normal(0, 0.1, (2000, n_actions - 1))], axis=1
        )
        seeming = float(noise.max(axis=1).mean() - 0.5)
        assert noise_gain(noise) == pytest.approx(seeming, rel=0.05)


def test_noise_gain_by_hand() -> None:
    """Deviations of 0.1 and 0.3 either way from the mean gains: the largest are 0.3 of both."""
    values = np.asarray([[0.5, 0.7, 0.2], [0.5, 0.5, 0.8]])
    assert noise_gain(values) == pytest.approx(np.mean([(0.1 + 0.3) / 2, (0.3 + 0.1) / 2]))


def test_noise_gain_counts_correlated_actions_once() -> None:
    one = np.random.default_rng(0).normal(0, 0.1, (500, 1))
    copies = 0.5 + np.concatenate([np.zeros((500, 1)), *[one] * 10], axis=1)
    assert noise_gain(copies) == pytest.approx(noise_gain(copies[:, :2]), rel=1e-9)


def test_noise_gain_ignores_what_an_action_gains_on_average() -> None:
    noise = np.random.default_rng(0).normal(0.5, 0.1, (200, 3))
    assert noise_gain(noise + np.asarray([0.0, 0.3, -0.2])) == pytest.approx(noise_gain(noise))
    assert noise_gain(np.tile([0.5, 0.9, 0.1], (200, 1))) == pytest.approx(0.0, abs=1e-12)
