"""REINFORCE learns what there is to learn, holds to its reference, and counts what it says."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import TrainingError
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.policies.reference import ReferencePolicy, mostly, uniform
from rl_rewriter.training.config import ReinforceConfig
from rl_rewriter.training.kl_control import KlConfig
from rl_rewriter.training.reinforce import ReinforceRun
from tests.tables import identity_task, table_of

N_ACTIONS = 4
KEEP_HEAVY = mostly(0, N_ACTIONS)
QUICK: dict[str, Any] = {"warm_up": 10, "batch_size": 64, "learning_rate": 0.01}


def trained(
    table: RewardTable,
    updates: int,
    *,
    reference: ReferencePolicy | None = None,
    **settings: Any,
) -> ReinforceRun:
    """A run after some updates."""
    run = ReinforceRun(
        table,
        (reference or mostly(0, len(table.action_names))).held(table.mask),
        ReinforceConfig(**{**QUICK, **settings}),
    )
    for update in range(1, updates + 1):
        run.step(update)
    return run


def probabilities(policy: MlpPolicy, table: RewardTable) -> np.ndarray:
    return policy.distribution(table.states, table.mask).probabilities


@pytest.mark.parametrize(("hidden", "updates"), [((), 250), ((64,), 150)])
def test_learns_the_identity_task_and_generalises(hidden: tuple[int, ...], updates: int) -> None:
    # Without dropout: each column of the state is needed.
    run = trained(identity_task(2048, N_ACTIONS), updates, hidden=hidden, dropout=0.0)
    unseen = identity_task(1000, N_ACTIONS, seed=1)
    greedy = run.network.policy().distribution(unseen.states, unseen.mask).greedy()
    assert (greedy == unseen.rewards.argmax(axis=1)).mean() >= 0.95


def test_learns_one_best_action_whatever_the_state() -> None:
    values = np.tile([0.2, 0.1, 0.6, 0.5], (100, 1))
    table = table_of(values, states=np.random.default_rng(0).standard_normal((100, 3)))
    policy = trained(table, 120).network.policy()
    assert probabilities(policy, table)[:, 2].min() > 0.9


def test_metrics_are_those_documented() -> None:
    metrics = trained(identity_task(16, N_ACTIONS), 0).step(1)
    assert set(metrics) == {"reward", "loss", "kl", "entropy", "beta", "grad_norm"}
    assert all(isinstance(value, float) for value in metrics.values())


@pytest.mark.parametrize("direction", ["policy_reference", "reference_policy"])
@pytest.mark.parametrize("reference", [KEEP_HEAVY, mostly(2, N_ACTIONS), uniform(N_ACTIONS)])
def test_kl_and_entropy_are_those_of_the_distributions(
    direction: str, reference: ReferencePolicy
) -> None:
    # One state for all queries, so that it doesn't matter which of them a batch holds.
    table = table_of(np.tile([0.0, 0.5, 0.2, 0.9], (8, 1)), mask=[[True, True, False, True]] * 8)
    run = trained(
        table,
        30,
        reference=reference,
        dropout=0.0,
        kl=KlConfig(direction=direction),  # type: ignore[arg-type]
    )
    learned = run.network.policy().distribution(table.states, table.mask)
    held = reference.distribution(table.states, table.mask)
    pair = (learned, held) if direction == "policy_reference" else (held, learned)

    metrics = run.step(31)

    assert metrics["kl"] == pytest.approx(pair[0].kl(pair[1]).mean(), abs=1e-4)
    assert metrics["kl"] > 0.02
    assert metrics["entropy"] == pytest.approx(learned.entropy().mean(), abs=1e-5)


def test_an_entropy_bonus_raises_entropy() -> None:
    table = identity_task(128, N_ACTIONS)
    entropies = []
    for bonus in (0.0, 0.2, 2.0):
        policy = trained(table, 100, entropy=bonus).network.policy()
        entropies.append(policy.distribution(table.states, table.mask).entropy().mean())
    assert entropies[0] + 0.1 < entropies[1] < entropies[2] - 0.1


def test_a_larger_beta_holds_closer_to_the_reference() -> None:
    table = identity_task(128, N_ACTIONS)
    distances = []
    for beta in (0.0, 0.1, 10.0):
        policy = trained(table, 100, kl=KlConfig(beta=beta)).network.policy()
        held = KEEP_HEAVY.distribution(table.states, table.mask)
        distances.append(policy.distribution(table.states, table.mask).kl(held).mean())
    assert distances[0] > 1.3 * distances[1] > 0
    assert distances[2] < 0.01


def test_beta_adapts_until_the_kl_is_near_its_target() -> None:
    table = identity_task(128, N_ACTIONS)
    target = 0.5
    run = trained(table, 0, dropout=0.0, kl=KlConfig(beta=0.0, target=target, rate=0.02))
    for update in range(1, 201):
        before = run.beta
        metrics = run.step(update)
        assert metrics["beta"] == run.beta == max(0.0, before + 0.02 * (metrics["kl"] - target))
    assert metrics["kl"] == pytest.approx(target, abs=0.15)
    free = trained(table, 100, dropout=0.0, kl=KlConfig(beta=0.0))
    assert free.step(101)["kl"] > 2 * target


@pytest.mark.parametrize("worth", [float("nan"), float("inf"), float("-inf")])
def test_a_reward_that_is_no_number_stops_training_and_names_the_update(worth: float) -> None:
    table = identity_task(16, N_ACTIONS)
    broken = dataclasses.replace(table, rewards=np.full_like(table.rewards, worth))
    with pytest.raises(TrainingError) as caught:
        trained(broken, 1)
    assert str(caught.value) == "a reward of update 1 is not finite; check the judgements' grades"


def test_weights_that_run_away_stop_training_and_name_the_update() -> None:
    with pytest.raises(TrainingError) as caught:
        trained(identity_task(16, N_ACTIONS), 2, learning_rate=1e36, weight_decay=0.0, warm_up=0)
    assert str(caught.value) == "the policy of update 2 is not finite; lower learning_rate"


def test_masked_actions_are_never_drawn() -> None:
    table = identity_task(64, N_ACTIONS)
    mask = np.random.default_rng(0).random(table.mask.shape) < 0.5
    mask[:, 0] = True
    poisoned = np.where(mask, table.rewards, np.nan)
    table = dataclasses.replace(table, mask=mask, rewards=poisoned)

    policy = trained(table, 60, entropy=1.0).network.policy()

    assert (probabilities(policy, table)[~mask] == 0).all()


def test_the_loss_has_no_unit() -> None:
    """All of metric, beta and bonus in other units: the same policy."""
    table = identity_task(64, N_ACTIONS)
    scaled = dataclasses.replace(table, rewards=100 * table.rewards)
    small = trained(table, 30, entropy=0.01, kl=KlConfig(beta=0.02)).network.policy()
    large = trained(scaled, 30, entropy=1.0, kl=KlConfig(beta=2.0)).network.policy()
    np.testing.assert_allclose(probabilities(small, table), probabilities(large, table), atol=1e-3)


def test_the_baseline_takes_out_what_all_actions_of_a_query_share() -> None:
    table = identity_task(64, N_ACTIONS)
    easy = np.random.default_rng(0).integers(0, 8, (64, 1))
    lifted = dataclasses.replace(table, rewards=table.rewards + easy)
    plain, shifted = (trained(t, 30).network.policy() for t in (table, lifted))
    np.testing.assert_allclose(
        probabilities(plain, table), probabilities(shifted, table), atol=1e-3
    )


def test_nothing_is_learned_where_all_actions_are_worth_the_same() -> None:
    states = np.random.default_rng(0).standard_normal((64, 3))
    table = table_of(np.full((64, N_ACTIONS), 0.5), states=states)
    policy = trained(table, 60).network.policy()
    np.testing.assert_allclose(
        probabilities(policy, table), np.tile(KEEP_HEAVY.probabilities, (64, 1)), atol=0.02
    )


def test_the_seed_decides_everything() -> None:
    table = identity_task(64, N_ACTIONS)
    versions = [trained(table, 5, seed=seed).network.policy().version for seed in (1, 1, 2)]
    assert versions[0] == versions[1] != versions[2]


def test_the_learning_rate_rises_over_the_warm_up() -> None:
    table = identity_task(64, N_ACTIONS)
    moved = []
    for warm_up in (0, 100):
        run = trained(table, 0, warm_up=warm_up, weight_decay=0.0)
        before = [p.detach().clone() for p in run.network.parameters()]
        run.step(1)
        after = [p.detach() for p in run.network.parameters()]
        moved.append(sum(float((a - b).abs().sum()) for a, b in zip(after, before, strict=True)))
    assert moved[0] == pytest.approx(100 * moved[1], rel=0.05)


def test_weight_decay_shrinks_what_depends_on_the_state_alone() -> None:
    table = identity_task(64, N_ACTIONS)
    free, shrunk = (
        trained(table, 60, weight_decay=decay).network.policy() for decay in (0.0, 0.01)
    )
    size = [sum(float(np.abs(layer.weight).sum()) for layer in p.layers) for p in (free, shrunk)]
    assert size[1] < 0.7 * size[0]
    nothing = table_of(np.zeros((64, N_ACTIONS)), states=table.states)
    still = trained(nothing, 60, weight_decay=0.05, kl=KlConfig(beta=0.0)).network.policy()
    np.testing.assert_allclose(still.layers[-1].bias, np.log(KEEP_HEAVY.probabilities), atol=1e-4)
