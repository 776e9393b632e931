"""The training loop: update, look at the validation queries, keep the best policy seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.policies.reference import ReferencePolicy, mostly, uniform
from rl_rewriter.policies.starting import keep_policy
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.metrics_log import MetricsLog
from rl_rewriter.types import OnProgress


@dataclass(frozen=True)
class Outcome:
    """What a training run ended with.

    Attributes:
        policy: The policy with the best validation reward; one that keeps every query where none
            was better than that.
        update: The update at which it was seen; 0 for keep.
        kl: Mean KL of that policy to the reference on the training queries, in nats.
        validation: Mean metric of keep, of the action that is best on the training queries
            ("best_fixed") and of the policy, on the validation queries.
    """

    policy: MlpPolicy
    update: int
    kl: float
    validation: Mapping[str, float]


def train_on_tables(
    train: RewardTable,
    validation: RewardTable,
    config: FitConfig,
    on_progress: OnProgress = lambda stage, done, total: None,
    metrics_dir: Path | None = None,
) -> Outcome:
    """Train by REINFORCE and keep the policy that serves the validation queries best.

    Args:
        train: The environment to learn in.
        validation: Queries to choose by; never learned from.
        config: Settings.
        on_progress: Told the number of updates done.
        metrics_dir: Where metrics are written; nowhere by default.

    Raises:
        TrainingError: A number stopped being finite.
    """
    from rl_rewriter.training.network import one_thread
    from rl_rewriter.training.reinforce import ReinforceRun

    settings = config.reinforce
    best_fixed = int(train.values.mean(axis=0).argmax())
    reference = reference_policy(config, best_fixed, len(train.action_names))
    run = ReinforceRun(train, reference, settings)
    # What is worse than keep on the validation queries is never chosen.
    n_features, n_actions = train.states.shape[1], len(train.action_names)
    best = (0.0, 0, keep_policy(n_features, n_actions, config.reference_probability))
    with MetricsLog(metrics_dir) as log, one_thread():
        for update in range(1, settings.updates + 1):
            metrics = run.step(update)
            if update % settings.evaluate_every and update != settings.updates:
                continue
            policy = run.network.policy()
            reward = float(greedy(policy, validation, validation.rewards).mean())
            log.write(
                update,
                {f"train/{k}": v for k, v in metrics.items()} | {"validation/reward": reward},
            )
            on_progress("training", update, settings.updates)
            if reward > best[0]:
                best = (reward, update, policy)
    _, chosen, policy = best
    return Outcome(
        policy=policy,
        update=chosen,
        kl=_mean_kl(policy, reference, train),
        validation={
            "keep": float(validation.values[:, 0].mean()),
            "best_fixed": float(validation.values[:, best_fixed].mean()),
            "policy": float(greedy(policy, validation, validation.values).mean()),
        },
    )


def reference_policy(config: FitConfig, best_fixed: int, n_actions: int) -> ReferencePolicy:
    """The policy that the KL term holds to."""
    if config.reference == "uniform":
        return uniform(n_actions)
    action = best_fixed if config.reference == "best-fixed" else 0
    return mostly(action, n_actions, probability=config.reference_probability)


def greedy(policy: MlpPolicy, table: RewardTable, outcomes: np.ndarray) -> np.ndarray:
    """What the policy's most probable actions give, ``(n,)``, of outcomes ``(n, m)``."""
    actions = policy.distribution(table.states, table.mask).greedy()
    return outcomes[np.arange(len(table)), actions]


def _mean_kl(policy: MlpPolicy, reference: ReferencePolicy, table: RewardTable) -> float:
    learned = policy.distribution(table.states, table.mask)
    return float(learned.kl(reference.distribution(table.states, table.mask)).mean())
