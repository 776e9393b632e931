"""The posterior is that of a Gaussian process written down plainly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.training.credit.posterior import NOISES, posterior
from rl_rewriter.training.credit.slates import DEPTH, DISCOUNTS, Slates

N_PLACES = 6


def plain_mean(expected: np.ndarray, slates: Slates, noise: float) -> np.ndarray:
    """Credits of one query's candidates, with prior variance ``m (1 - m) + .01``."""
    if not len(slates):
        return expected
    design = np.zeros((len(slates), N_PLACES))
    for row, rank in np.argwhere(slates.places >= 0):
        design[row, slates.places[row, rank]] += DISCOUNTS[rank]
    prior = np.diag(expected * (1 - expected) + 0.01)
    covariance = design @ prior @ design.T + noise * np.diag(1 / slates.weights)
    residual = slates.rewards - design @ expected
    return np.asarray(expected + prior @ design.T @ np.linalg.inv(covariance) @ residual)


def drawn(seed: int, n: int, n_queries: int = 2) -> tuple[np.ndarray, Slates]:
    rng = np.random.default_rng(seed)
    places = np.full((n, DEPTH), -1, dtype=np.int32)
    for row in range(n):
        length = rng.integers(0, N_PLACES)
        places[row, :length] = rng.permutation(N_PLACES)[:length]
    slates = Slates(
        rng.integers(n_queries, size=n), places, rng.random(n), 10.0 ** rng.uniform(-2, 1, n)
    )
    return rng.uniform(0, 1, (n_queries, N_PLACES)), slates


@given(st.integers(0, 1000), st.integers(1, 9))
def test_it_is_the_best_of_plain_processes(seed: int, n: int) -> None:
    expected, slates = drawn(seed, n)
    found, error = posterior(expected, slates, 0.0)
    errors = {
        noise: sum(left_out_error(expected, slates, one, noise) for one in range(n))
        for noise in NOISES
    }
    lowest = min(errors.values())
    np.testing.assert_allclose(error, lowest / slates.weights.sum(), rtol=1e-5)
    near = [noise for noise in NOISES if errors[noise] <= lowest * (1 + 1e-5)]
    assert any(
        np.allclose(found[row], plain_mean(expected[row], of(slates, row), noise), atol=1e-6)
        for noise in near
        for row in range(2)
    )


def of(slates: Slates, row: int) -> Slates:
    return slates.of(np.flatnonzero(slates.rows == row))


def left_out_error(expected: np.ndarray, slates: Slates, one: int, noise: float) -> float:
    """Squared error of a decision predicted from its query's others."""
    row = slates.rows[one]
    others = slates.of(np.flatnonzero((slates.rows == row) & (np.arange(len(slates)) != one)))
    mean = plain_mean(expected[row], others, noise)
    places = slates.places[one]
    predicted = DISCOUNTS[places >= 0] @ mean[places[places >= 0]]
    return float(slates.weights[one] * (slates.rewards[one] - predicted) ** 2)


def test_where_no_query_has_two_lists_little_is_changed() -> None:
    expected, slates = drawn(0, 2)
    slates = Slates(np.asarray([0, 1]), slates.places, slates.rewards, np.ones(2))
    found, _ = posterior(expected, slates, 0.0)
    for row in range(2):
        plain = plain_mean(expected[row], of(slates, row), float(NOISES[-1]))
        np.testing.assert_allclose(found[row], plain)
