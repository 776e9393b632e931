"""REINFORCE with a KL term to a reference policy (Williams, 1992)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import TrainingError
from rl_rewriter.policies.reference import HeldTo
from rl_rewriter.training.config import ReinforceConfig
from rl_rewriter.training.network import PolicyNetwork

Metrics = Mapping[str, float]


class ReinforceRun:
    """One training run: the network, its optimiser and its random numbers.

    The loss of a batch of ``b`` queries with ``s`` drawn actions each is

    ``-mean(log pi(a|q) A) + beta mean(KL) - entropy mean(H)``

    with ``A`` the reward minus the mean reward of the query's other drawn actions. All terms are
    divided by the batch's standard deviation of ``A`` (by beta where that is more, lest a held
    policy takes huge steps), so that beta keeps its unit: metric a nat.

    Args:
        table: The environment.
        held: Held close to, row by row of the table; also what the untrained network plays.
        config: Settings.
    """

    def __init__(self, table: RewardTable, held: HeldTo, config: ReinforceConfig) -> None:
        self._config = config
        self._generator = torch.Generator().manual_seed(config.seed)
        self._states = torch.from_numpy(table.states)
        self._mask = torch.from_numpy(table.mask)
        self._rewards = torch.from_numpy(table.rewards.astype(np.float32))
        self._weights = None if table.weights is None else torch.from_numpy(table.weights.cumsum())
        self._reference = torch.from_numpy(np.log(np.maximum(held.rows, 1e-6))).float()
        prior = torch.from_numpy(np.log(np.maximum(held.prior, 1e-6))).float()
        self.beta = config.kl.beta
        self.network = PolicyNetwork(
            table.states.shape[1],
            table.mask.shape[1],
            config.hidden,
            prior,
            self._generator,
            dropout=config.dropout,
        )
        weights = [layer.weight for layer in self.network.layers]
        biases = [layer.bias for layer in self.network.layers]
        self._optimiser = torch.optim.AdamW(
            [
                {"params": weights, "weight_decay": config.weight_decay / config.learning_rate},
                {"params": biases, "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
        )

    def step(self, update: int) -> Metrics:
        """One update.

        Args:
            update: Its number, counted from 1.

        Returns:
            Its metrics: reward, loss, kl, entropy, beta, grad_norm.

        Raises:
            TrainingError: A number stopped being finite; the text names the update.
        """
        config = self._config
        rows = self._rows()
        for group in self._optimiser.param_groups:
            group["lr"] = config.learning_rate * min(1.0, update / max(1, config.warm_up))
        log_policy = self.network(self._states[rows], self._mask[rows], self._generator)
        _check(log_policy, f"the policy of update {update}", "lower learning_rate")
        drawn = torch.multinomial(
            log_policy.exp(), config.samples, replacement=True, generator=self._generator
        )
        rewards = self._rewards[rows].gather(1, drawn)
        advantages = _leave_one_out(rewards)
        _check(advantages, f"a reward of update {update}", "check the judgements' grades")
        scale = float(advantages.std().clamp_min(1e-6))
        kl = _kl(log_policy, self._reference[rows], config.kl.direction)
        entropy = -(log_policy.exp() * log_policy).sum(dim=1)
        loss = (
            -(log_policy.gather(1, drawn) * advantages).mean()
            + self.beta * kl.mean()
            - config.entropy * entropy.mean()
        ) / max(scale, self.beta)
        self._optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip_norm)
        _check(norm, f"the gradient of update {update}", "lower learning_rate")
        self._optimiser.step()
        self.beta = config.kl.adapted(self.beta, float(kl.detach().mean()))
        return {
            "reward": float(rewards.mean()),
            "loss": float(loss.detach()),
            "kl": float(kl.detach().mean()),
            "entropy": float(entropy.detach().mean()),
            "beta": self.beta,
            "grad_norm": float(norm),
        }

    def _rows(self) -> Tensor:
        """Queries of a batch, ``(b,)``, each drawn as often as it counts."""
        n, size = len(self._states), (self._config.batch_size,)
        if self._weights is None:
            return torch.randint(n, size, generator=self._generator)
        drawn = torch.rand(size, generator=self._generator, dtype=torch.float64)
        return torch.searchsorted(self._weights, drawn * self._weights[-1], right=True).clamp(
            max=n - 1
        )


def _check(numbers: Tensor, what: str, advice: str) -> None:
    if not bool(numbers.isfinite().all()):
        raise TrainingError(f"{what} is not finite; {advice}")


def _leave_one_out(rewards: Tensor) -> Tensor:
    """Reward minus the mean of the other samples of the same query, ``(b, s)``."""
    n_samples = rewards.shape[1]
    others = (rewards.sum(dim=1, keepdim=True) - rewards) / (n_samples - 1)
    return rewards - others


def _kl(log_policy: Tensor, log_reference: Tensor, direction: str) -> Tensor:
    """Exact KL a query, ``(b,)``; masked actions add nothing."""
    if direction == "policy_reference":
        return (log_policy.exp() * (log_policy - log_reference)).sum(dim=1)
    possible = log_policy.clamp_min(-30.0)
    return (log_reference.exp() * (log_reference - possible)).sum(dim=1)
