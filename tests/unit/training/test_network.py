"""The torch network and its numpy twin, its dropout, and the random states it leaves alone."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest
import torch

from rl_rewriter.policies.protocols import Mask
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.loop import train_on_tables
from rl_rewriter.training.network import PolicyNetwork, one_thread
from tests.tables import identity_task

QUICK = FitConfig(
    reinforce=ReinforceConfig(updates=30, evaluate_every=10, warm_up=5, learning_rate=0.01)
)
N_FEATURES, N_ACTIONS, N_QUERIES = 7, 5, 40
PRIOR = torch.log(torch.tensor([0.9, 0.025, 0.025, 0.025, 0.025]))


def network(
    hidden: tuple[int, ...] = (16,), *, dropout: float = 0.0, seed: int = 0
) -> PolicyNetwork:
    generator = torch.Generator().manual_seed(seed)
    return PolicyNetwork(N_FEATURES, N_ACTIONS, hidden, PRIOR, generator, dropout=dropout)


def inputs(seed: int = 0) -> tuple[npt.NDArray[np.float32], Mask]:
    rng = np.random.default_rng(seed)
    mask = rng.random((N_QUERIES, N_ACTIONS)) < 0.7
    mask[:, 0] = True
    return rng.standard_normal((N_QUERIES, N_FEATURES), dtype=np.float32), mask


def log_policy(net: PolicyNetwork, seed: int | None = None) -> torch.Tensor:
    states, _ = inputs()
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    everything = torch.ones((N_QUERIES, N_ACTIONS), dtype=torch.bool)
    with torch.no_grad():
        found: torch.Tensor = net(torch.from_numpy(states), everything, generator)
    return found


@pytest.mark.parametrize("hidden", [(), (64,), (32, 16)])
def test_the_numpy_twin_gives_the_same_probabilities(hidden: tuple[int, ...]) -> None:
    net = network(hidden, dropout=0.5)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.normal_(generator=torch.Generator().manual_seed(1))
    states, mask = inputs()
    with torch.no_grad():
        expected = net(torch.from_numpy(states), torch.from_numpy(mask)).exp().numpy()

    found = net.policy().distribution(states, mask).probabilities

    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (found[~mask] == 0).all()
    assert np.ptp(found, axis=0).min() > 0.1


def test_the_twin_is_a_copy() -> None:
    net = network()
    policy = net.policy()
    version = policy.version
    with torch.no_grad():
        net.layers[0].weight.add_(1.0)
    assert net.policy().version != version == policy.version
    assert {layer.weight.dtype for layer in policy.layers} == {np.dtype(np.float32)}


def test_the_untrained_network_plays_the_prior() -> None:
    probabilities = log_policy(network((64,))).exp()
    np.testing.assert_allclose(probabilities, PRIOR.exp().expand(N_QUERIES, -1), atol=0.02)


def test_the_generator_alone_decides_what_is_dropped() -> None:
    net = network(dropout=0.5)
    assert torch.equal(log_policy(net, seed=1), log_policy(net, seed=1))
    assert not torch.equal(log_policy(net, seed=1), log_policy(net, seed=2))
    assert torch.equal(log_policy(net), log_policy(net))


def test_nothing_is_dropped_without_a_generator_or_a_share() -> None:
    assert torch.equal(log_policy(network(dropout=0.5)), log_policy(network(dropout=0.0)))
    net = network(dropout=0.0)
    assert torch.equal(log_policy(net, seed=1), log_policy(net))


def test_dropout_keeps_the_mean_of_the_logits() -> None:
    net = network((), dropout=0.3)
    with torch.no_grad():
        net.layers[0].weight.normal_(generator=torch.Generator().manual_seed(1))
    n_draws = 50_000
    states = torch.randn((1, N_FEATURES), generator=torch.Generator().manual_seed(2))
    everything = torch.ones((n_draws, N_ACTIONS), dtype=torch.bool)
    with torch.no_grad():
        whole = net(states, everything[:1])
        dropped = net(states.expand(n_draws, -1), everything, torch.Generator().manual_seed(3))
    # Log-probabilities are logits up to one number a row.
    ratios = (dropped - dropped[:, :1])[:, 1:]
    np.testing.assert_allclose(ratios.mean(0), (whole - whole[:, :1])[0, 1:], atol=0.05)
    assert float(ratios.std(0).min()) > 0.3


def test_equal_seeds_give_equal_weights() -> None:
    assert network(seed=3).policy().version == network(seed=3).policy().version
    assert network(seed=3).policy().version != network(seed=4).policy().version


def test_training_leaves_global_random_states_alone() -> None:
    table = identity_task(32, 3)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    numpy_before = np.random.get_state()[1].tolist()  # type: ignore[index]
    python_before = random.getstate()

    train_on_tables(table, table, QUICK)

    assert torch.equal(torch.get_rng_state(), before)
    assert np.random.get_state()[1].tolist() == numpy_before  # type: ignore[index]
    assert random.getstate() == python_before


def test_training_does_not_depend_on_global_random_states() -> None:
    table = identity_task(32, 3)
    torch.manual_seed(1)
    first = train_on_tables(table, table, QUICK)
    assert first.update > 0
    torch.manual_seed(2)
    assert train_on_tables(table, table, QUICK).policy.version == first.policy.version


def test_the_number_of_threads_is_put_back() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(KeyError):
            _fail_in_one_thread()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def _fail_in_one_thread() -> None:
    with one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
