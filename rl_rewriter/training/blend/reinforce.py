"""Tunes weights on the metric itself: REINFORCE with a Gaussian over the logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rl_rewriter.errors import TrainingError
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.blend.batches import drawn
from rl_rewriter.training.blend.config import FineTuneConfig
from rl_rewriter.training.blend.network import SameForAll, Shifted
from rl_rewriter.training.blend.objective import Judge, weights_of
from rl_rewriter.training.blend.pools import Rows
from rl_rewriter.types import Vector


@dataclass(frozen=True)
class Tuning:
    """How tuning went.

    Attributes:
        gains: Mean metric of the drawn weights over keep, by step.
        kl: KL to the reference at the end, a query, in nats.
    """

    gains: tuple[float, ...]
    kl: float


def fine_tune(
    model: SameForAll | Shifted,
    judge: Judge,
    rows: Rows,
    reference: Vector,
    config: FineTuneConfig,
    generator: torch.Generator,
) -> Tuning:
    """Follow the policy gradient of the metric, in place.

    The policy draws logits ``z ~ N(mu(s), sigma^2)``. Its reward is the metric of the search that
    they weigh, less that of keep; the baseline is the mean reward of the query's other draws
    (leave-one-out: Kool et al., 2019), and advantages are scaled to unit deviation over the batch.
    ``beta KL`` holds it to the reference, with ``KL = |mu - reference|^2 / (2 sigma^2)`` over the
    present views. What is left is the mean of the parameters over the last half of the steps
    (Polyak and Juditsky, 1992).

    Args:
        model: Gives ``mu``.
        judge: Tells rewards.
        rows: Queries to learn from.
        reference: Logits that are held to, ``(v,)``.
        config: Settings.
        generator: Draws batches, logits and dropout.

    Raises:
        TrainingError: A number stopped being finite.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    rate = config.learning_rate if isinstance(model, SameForAll) else config.network_rate
    optimiser = torch.optim.Adam(parameters, lr=rate)
    held_to = torch.from_numpy(np.array(reference, dtype=np.float32))
    average = _Average(parameters)
    gains = []
    taken = drawn(judge.everything, rows, config.batch_size, config.steps, generator)
    kept = np.zeros(len(judge.pools))
    kept[rows] = judge.keep(rows)
    kl = torch.zeros(())
    for step, (batch_rows, batch) in enumerate(taken):
        means = model(batch.states, generator)
        logits, log_prob = _draw(means, batch.present, config, generator)
        weights = weights_of(logits, batch.present[:, None, :])
        rewards = judge.rewards(batch_rows, batch, weights) - kept[batch_rows, None]
        off = (means - held_to).masked_fill(~batch.present, 0.0)
        kl = (off.pow(2).sum(dim=1) / (2.0 * config.sigma**2)).mean()
        loss = -(_advantages(rewards) * log_prob).mean() + config.beta * kl
        if not bool(torch.isfinite(loss)):
            raise TrainingError(
                f"tuning a blend stopped being finite at step {step + 1}; lower learning_rate"
            )
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        gains.append(float(rewards.mean()))
        if step >= config.steps // 2:
            average.add()
    average.apply()
    return Tuning(tuple(gains), float(kl.detach()))


def _draw(
    means: Tensor, present: Tensor, config: FineTuneConfig, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Logits ``(b, k, v)`` and their log-densities but for a constant, ``(b, k)``."""
    shape = (len(means), config.samples, means.shape[1])
    noise = torch.randn(shape, generator=generator) * config.sigma
    logits = means.detach()[:, None] + noise
    off = (logits - means[:, None]).masked_fill(~present[:, None], 0.0)
    return logits, -off.pow(2).sum(dim=-1) / (2.0 * config.sigma**2)


def _advantages(rewards: Table) -> Tensor:
    """Reward less the mean of the query's other draws, of unit deviation, ``(b, k)``."""
    others = (rewards.sum(axis=1, keepdims=True) - rewards) / (rewards.shape[1] - 1)
    advantages = rewards - others
    return torch.from_numpy(advantages / max(float(advantages.std()), 1e-6)).float()


class _Average:
    """Running mean of parameters."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self._parameters = parameters
        self._sums = [torch.zeros_like(parameter) for parameter in parameters]
        self._n = 0

    def add(self) -> None:
        self._n += 1
        for total, parameter in zip(self._sums, self._parameters, strict=True):
            total += parameter.detach()

    def apply(self) -> None:
        if not self._n:
            return
        with torch.no_grad():
            for total, parameter in zip(self._sums, self._parameters, strict=True):
                parameter.copy_(total / self._n)
