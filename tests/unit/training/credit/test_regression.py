"""What documents are expected to add, from lists whose documents' credits are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rl_rewriter.training.credit import regression
from rl_rewriter.training.credit.regression import Expected, fit_expected, summed
from rl_rewriter.training.credit.slates import DEPTH, DISCOUNTS, Slates

N, P, F = 60, 15, 3
BASE = 0.2
RNG = np.random.default_rng(0)
FEATURES = RNG.random((N, P, F)).astype(np.float32)
WEIGHTS = np.asarray([3.0, -2.0, 4.0])
TRUE = expit(FEATURES @ WEIGHTS - 5.0) - expit(-5.0)


def slates(n_lists: int = 20, noise: float = 0.0) -> Slates:
    """Lists of documents in random order, and what these earn."""
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(N), n_lists)
    places = np.argsort(rng.random((len(rows), P)), axis=1)[:, :DEPTH].astype(np.int32)
    rewards = BASE + TRUE[rows[:, None], places] @ DISCOUNTS
    rewards = rewards + noise * rng.standard_normal(len(rows))
    return Slates(rows, places, rewards, np.ones(len(rows)))


def loss(model: Expected, shown: Slates, scale: np.ndarray) -> float:
    """The penalised error, counted by hand."""
    credit = expit(FEATURES @ model.weights - 5.0) - expit(-5.0)
    off = model.intercept + summed(credit, shown) - shown.rewards
    return float(shown.weights @ off**2 + model.penalty * ((model.weights * scale) ** 2).sum())


def test_known_credits_are_found() -> None:
    found = fit_expected(FEATURES, slates())
    assert found.explained > 0.999
    assert found.intercept == pytest.approx(BASE, abs=0.01)
    assert found.credit(FEATURES) == pytest.approx(np.maximum(TRUE, 0.0), abs=0.01)


def test_nothing_is_explained_where_there_is_nothing() -> None:
    shown = slates()
    found = fit_expected(FEATURES, replace(shown, rewards=RNG.random(len(shown))))
    assert found.explained < 0.02


def test_no_other_weights_have_a_smaller_penalised_error() -> None:
    shown = slates(2, noise=0.3)
    shown = replace(shown, weights=RNG.uniform(0.5, 2.0, len(shown)))
    found = fit_expected(FEATURES, shown)
    seen = FEATURES[shown.rows[:, None], shown.places].reshape(-1, F)
    scale = np.sqrt(np.cov(seen.T, aweights=np.repeat(shown.weights, DEPTH), bias=True).diagonal())
    least = loss(found, shown, scale)
    for _ in range(50):
        step = 0.02 * RNG.standard_normal(F + 1)
        other = replace(
            found, weights=found.weights + step[:-1], intercept=found.intercept + 0.1 * step[-1]
        )
        assert loss(other, shown, scale) > least


def test_a_list_of_weight_two_is_two_lists() -> None:
    shown = slates(2, noise=0.3)
    twice = shown.of(np.r_[np.arange(len(shown)), np.arange(0, len(shown), 3)])
    weights = np.where(np.arange(len(shown)) % 3, 1.0, 2.0)
    found = fit_expected(FEATURES, replace(shown, weights=weights))
    expected = fit_expected(FEATURES, twice)
    assert found.weights == pytest.approx(expected.weights, abs=1e-5)
    assert found.explained == pytest.approx(expected.explained, abs=1e-6)


def test_credit_is_never_below_nothing_and_nothing_without_features() -> None:
    found = Expected(np.asarray([2.0, -9.0]), intercept=0.0, penalty=1.0, explained=0.0)
    credit = found.credit(np.asarray([[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 0.0]]]))
    assert credit[0, :2].tolist() == [0.0, 0.0]
    assert 0.0 < credit[0, 2] < 0.1
    assert 0.9 < credit[0, 3] < 1.0


def test_a_feature_that_never_varies_is_no_second_intercept() -> None:
    shown = slates(2, noise=0.3)
    constant = np.concatenate([FEATURES, np.full((N, P, 1), 0.7, dtype=np.float32)], axis=2)
    found = fit_expected(constant, shown)
    assert abs(found.weights[-1]) < 5.0


def test_of_very_many_lists_the_weightiest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = slates(4, noise=0.3)
    heavy = replace(shown, weights=np.where(np.arange(len(shown)) % 2, 1.0, 0.1))
    monkeypatch.setattr(regression, "MOST_WEIGHED", len(shown) // 2)
    found = fit_expected(FEATURES, heavy)
    expected = fit_expected(FEATURES, heavy.of(np.flatnonzero(heavy.weights == 1.0)))
    assert found.weights.tolist() == expected.weights.tolist()
