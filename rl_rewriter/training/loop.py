"""The training loop: update, look at the validation queries, keep the best policy seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.policies.reference import HeldTo, ReferencePolicy, mostly, uniform
from rl_rewriter.policies.starting import keep_policy
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.metrics_log import MetricsLog
from rl_rewriter.types import OnProgress

OnLook = Callable[[int, Mapping[str, float]], None]
"""Called at each look at the validation queries, with the update and its metrics."""


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
    on_look: OnLook = lambda update, metrics: None,
    held: HeldTo | None = None,
) -> Outcome:
    """Train by REINFORCE and keep the policy that serves the validation queries best.

    Args:
        train: The environment to learn in.
        validation: Queries to choose by; never learned from.
        config: Settings.
        on_progress: Told the number of updates done.
        metrics_dir: Where metrics are written; nowhere by default.
        on_look: Told what is written there.
        held: What the KL term holds to on the training rows; the reference that ``config`` names by
            default.

    Raises:
        TrainingError: A number stopped being finite.
    """
    from rl_rewriter.training.network import one_thread
    from rl_rewriter.training.reinforce import ReinforceRun

    settings = config.reinforce
    best_fixed = int(train.mean(train.values).argmax())
    if held is None:
        held = reference_policy(config, best_fixed, len(train.action_names)).held(train.mask)
    run = ReinforceRun(train, held, settings)
    # What is worse than keep on the validation queries is never chosen.
    n_features, n_actions = train.states.shape[1], len(train.action_names)
    best = (0.0, 0, keep_policy(n_features, n_actions, config.reference_probability))
    with MetricsLog(metrics_dir) as log, one_thread():
        for update in range(1, settings.updates + 1):
            metrics = run.step(update)
            if update % settings.evaluate_every and update != settings.updates:
                continue
            policy = run.network.policy()
            reward = float(validation.mean(greedy(policy, validation, validation.rewards)))
            look = {f"train/{k}": v for k, v in metrics.items()} | {"validation/reward": reward}
            log.write(update, look)
            on_look(update, look)
            on_progress("training", update, settings.updates)
            if reward > best[0]:
                best = (reward, update, policy)
    _, chosen, policy = best
    return Outcome(
        policy=policy,
        update=chosen,
        kl=_mean_kl(policy, held, train),
        validation={
            "keep": float(validation.mean(validation.values[:, 0])),
            "best_fixed": float(validation.mean(validation.values[:, best_fixed])),
            "policy": float(validation.mean(greedy(policy, validation, validation.values))),
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


def _mean_kl(policy: MlpPolicy, held: HeldTo, table: RewardTable) -> float:
    kl = policy.distribution(table.states, table.mask).kl(Categorical(held.rows))
    return float(table.mean(kl))
