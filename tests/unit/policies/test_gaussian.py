"""Densities of a blend's weights are those of scipy, and of what is really drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from rl_rewriter.actions.blend_head import TanhNetwork
from rl_rewriter.actions.blend_logits import LEAST_WEIGHT, centred, weights_of
from rl_rewriter.errors import InputError
from rl_rewriter.policies.gaussian import GaussianBlend, GaussianLogits, centre_of
from rl_rewriter.policies.protocols import Policy
from rl_rewriter.types import Matrix
from tests.unit.actions.conftest import head_of

VIEWS = ("query", "first_3", "bm25_3", "words")
PRESENT = np.asarray([[True, True, True, True], [True, False, True, False]])
STATES = np.asarray([[0.5, -1.0], [2.0, 0.0]], dtype=np.float32)
RNG = np.random.default_rng(0)


def network(seed: int) -> TanhNetwork:
    rng = np.random.default_rng(seed)
    shapes = ((3, 2), (3,), (4, 3))
    return TanhNetwork(*(rng.standard_normal(shape).astype(np.float32) for shape in shapes))


HEAD = replace(head_of(VIEWS, weights=(0.4, 0.3, 0.2, 0.1)), networks=(network(0),))
POLICY: Policy[GaussianLogits] = GaussianBlend(HEAD, 0.5)


def gaussian(sigma: float = 0.5, seed: int = 1) -> GaussianLogits:
    logits = np.random.default_rng(seed).normal(size=PRESENT.shape)
    return GaussianLogits(centred(logits, PRESENT), np.full(2, sigma))


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(np.float64, (2, 5), elements=st.floats(-4, 4)),
    st.lists(st.booleans(), min_size=4, max_size=4).map(lambda rest: [True, *rest]),
    st.floats(0.05, 3.0),
    st.floats(-9, 9),
)
def test_densities_are_those_of_scipys_multivariate_normal(
    points: npt.NDArray[np.float64], present: list[bool], sigma: float, shift: float
) -> None:
    """Centred Gaussians of ``k`` logits: covariance ``sigma^2 (1 - 1/k)``, of rank ``k - 1``."""
    mask = np.asarray([present])
    distribution = GaussianLogits(centred(points[:1], mask), np.asarray([sigma]))
    found = distribution.log_prob(points[1:] + shift)[0]
    inside = points[:, present] - points[:, present].mean(axis=1, keepdims=True)
    k = sum(present)
    if k == 1:
        assert found == pytest.approx(0.0)
        return
    covariance = sigma**2 * (np.eye(k) - 1.0 / k)
    expected = stats.multivariate_normal(inside[0], covariance, allow_singular=True, seed=0).logpdf(
        inside[1]
    )
    # scipy drops what lies outside of the subspace, so that rounding doesn't matter.
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_draws_have_the_density_that_is_told() -> None:
    distribution = gaussian()
    repeated = GaussianLogits(np.tile(distribution.centre, (20_000, 1)), np.full(40_000, 0.5))
    drawn = repeated.sample(np.random.default_rng(0))
    assert (np.isfinite(drawn) == np.tile(PRESENT, (20_000, 1))).all()
    sums = np.where(np.isfinite(drawn), drawn, 0.0).sum(axis=1)
    np.testing.assert_allclose(sums, 0.0, atol=1e-12)
    told = -repeated.log_prob(drawn).reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(told, distribution.entropy(), atol=0.03)
    off = drawn[::2] - repeated.centre[::2]
    expected = 0.25 * (np.eye(4) - 0.25)
    np.testing.assert_allclose(np.cov(off.T), expected, atol=0.01)
    other = gaussian(0.8, seed=2)
    against = GaussianLogits(np.tile(other.centre, (20_000, 1)), np.full(40_000, 0.8))
    seen = (repeated.log_prob(drawn) - against.log_prob(drawn)).reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(seen, distribution.kl(other), rtol=0.03)


def test_divergences() -> None:
    np.testing.assert_allclose(gaussian().kl(gaussian()), 0.0, atol=1e-12)
    with pytest.raises(InputError, match="weights of other views"):
        gaussian().kl(GaussianLogits(np.zeros((2, 4)), np.ones(2)))


def test_the_most_probable_logits_are_what_is_served() -> None:
    distribution = POLICY.distribution(STATES, PRESENT)
    served = HEAD.weights(STATES, PRESENT)
    np.testing.assert_allclose(weights_of(distribution.greedy()), served, atol=1e-6)
    logits = centred(HEAD.logits(STATES)[0].astype(np.float64), PRESENT)
    np.testing.assert_allclose(distribution.greedy(), logits, atol=1e-5)
    highest = distribution.log_prob(distribution.greedy())
    assert (highest > distribution.log_prob(distribution.sample(RNG))).all()


@pytest.mark.parametrize("strength", [1.0, 0.6])
def test_several_networks_and_a_strength_are_served_by_their_mean(strength: float) -> None:
    head = replace(HEAD, networks=(network(0), network(1)), strength=strength)
    found = weights_of(centre_of(head, STATES, PRESENT))
    np.testing.assert_allclose(found, head.weights(STATES, PRESENT), atol=1e-6)


def test_weights_next_to_nothing_count_as_a_thousandth() -> None:
    found = weights_of(centre_of(replace(HEAD, strength=0.0), STATES, PRESENT))
    np.testing.assert_allclose(found[:, 0], 1.0, atol=4 * LEAST_WEIGHT)
    np.testing.assert_allclose(found[0, 1:] / found[0, 0], LEAST_WEIGHT, rtol=1e-5)


def test_it_is_a_policy_with_a_name_and_a_version() -> None:
    others = (GaussianBlend(HEAD, 0.6), GaussianBlend(replace(HEAD, strength=0.5), 0.5))
    versions = {POLICY.version, *(other.version for other in others)}
    assert POLICY.name == "gaussian-blend"
    assert len(versions) == 3
    assert GaussianBlend(HEAD, 0.5).version == POLICY.version


def test_a_query_is_drawn_the_same_in_every_company() -> None:
    together = POLICY.distribution(STATES, PRESENT)
    for row in range(2):
        alone = POLICY.distribution(STATES[row : row + 1], PRESENT[row : row + 1])
        np.testing.assert_allclose(alone.centre[0], together.centre[row], atol=1e-6)
    empty: Matrix = STATES[:0]
    assert POLICY.distribution(empty, PRESENT[:0]).sample(RNG).shape == (0, 4)
