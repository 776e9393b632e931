"""What every policy and its distributions promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.policies.protocols import Policy
from rl_rewriter.policies.reference import always, mostly, uniform

N_QUERIES, N_FEATURES, N_ACTIONS = 40, 6, 5
RNG = np.random.default_rng(0)
STATES = RNG.normal(size=(N_QUERIES, N_FEATURES)).astype(np.float32)
MASK = RNG.random((N_QUERIES, N_ACTIONS)) < 0.6
MASK[:, 0] = True


def mlp(*hidden: int) -> MlpPolicy:
    rng = np.random.default_rng(1)
    sizes = [N_FEATURES, *hidden, N_ACTIONS]
    return MlpPolicy(
        tuple(
            Layer(
                rng.normal(size=(n_out, n_in)).astype(np.float32),
                rng.normal(size=n_out).astype(np.float32),
            )
            for n_in, n_out in pairwise(sizes)
        )
    )


POLICIES: dict[str, Policy[Categorical]] = {
    "linear": mlp(),
    "mlp": mlp(8, 4),
    "uniform": uniform(N_ACTIONS),
    "mostly-keep": mostly(0, N_ACTIONS),
    "mostly-3": mostly(3, N_ACTIONS, probability=0.6),
    "always-2": always(2, N_ACTIONS),
}
each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def probabilities_of(distribution: Categorical) -> npt.NDArray[np.float64]:
    """Every action's probability, by its log-probability."""
    columns = [
        np.exp(distribution.log_prob(np.full(N_QUERIES, action))) for action in range(N_ACTIONS)
    ]
    return np.stack(columns, axis=1)


@each_policy
def test_it_has_a_name_and_a_version(policy: Policy[Categorical]) -> None:
    assert policy.name
    assert policy.version == policy.version
    assert len(policy.version) >= 8


def test_versions_tell_policies_apart() -> None:
    assert len({policy.version for policy in POLICIES.values()}) == len(POLICIES)


@each_policy
def test_probabilities_sum_to_one_over_what_is_possible(policy: Policy[Categorical]) -> None:
    found = probabilities_of(policy.distribution(STATES, MASK))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    assert found[~MASK].max() < 1e-9


@each_policy
def test_the_greedy_action_is_the_most_probable_one(policy: Policy[Categorical]) -> None:
    distribution = policy.distribution(STATES, MASK)
    found = probabilities_of(distribution)
    greedy = distribution.greedy()
    assert MASK[np.arange(N_QUERIES), greedy].all()
    np.testing.assert_allclose(found[np.arange(N_QUERIES), greedy], found.max(axis=1))


@each_policy
def test_samples_are_possible_repeatable_and_as_frequent_as_said(
    policy: Policy[Categorical],
) -> None:
    distribution = policy.distribution(STATES, MASK)
    rng = np.random.default_rng(3)
    drawn = np.stack([distribution.sample(rng) for _ in range(2_000)])
    assert drawn.shape == (2_000, N_QUERIES)
    assert MASK[np.arange(N_QUERIES), drawn].all()
    shares = np.stack([(drawn == action).mean(axis=0) for action in range(N_ACTIONS)], axis=1)
    np.testing.assert_allclose(shares, probabilities_of(distribution), atol=0.06)
    again = distribution.sample(np.random.default_rng(3))
    np.testing.assert_array_equal(again, drawn[0])


@each_policy
def test_divergences(policy: Policy[Categorical]) -> None:
    distribution = policy.distribution(STATES, MASK)
    np.testing.assert_allclose(distribution.kl(distribution), 0.0, atol=1e-12)
    for other in POLICIES.values():
        assert (distribution.kl(other.distribution(STATES, MASK)) >= -1e-9).all()
    found = probabilities_of(distribution)
    expected = -(found * np.log(np.maximum(found, 1e-12))).sum(axis=1)
    np.testing.assert_allclose(distribution.entropy(), expected, atol=1e-6)


@each_policy
def test_a_query_is_decided_the_same_in_every_company(policy: Policy[Categorical]) -> None:
    together = policy.distribution(STATES, MASK).probabilities
    for row in range(N_QUERIES):
        alone = policy.distribution(STATES[row : row + 1], MASK[row : row + 1]).probabilities
        np.testing.assert_allclose(alone[0], together[row], atol=1e-6)
    empty = policy.distribution(STATES[:0], MASK[:0])
    assert len(empty.sample(np.random.default_rng(0))) == len(empty.greedy()) == 0
