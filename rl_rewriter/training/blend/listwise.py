"""Weights fitted to whole rankings: one set for all queries, then small networks around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rl_rewriter.errors import TrainingError
from rl_rewriter.training.blend.batches import drawn
from rl_rewriter.training.blend.config import ByQueryConfig, ListwiseConfig
from rl_rewriter.training.blend.network import SameForAll, Shifted
from rl_rewriter.training.blend.objective import Batch, listwise_loss, weights_of
from rl_rewriter.training.blend.pools import Rows
from rl_rewriter.training.blend.prior import prior_penalty
from rl_rewriter.types import Vector

_WARM_UP = 20


@dataclass(frozen=True, eq=False)
class Base:
    """Weights that are the same for all.

    Attributes:
        bias: Their logits, ``(v,)``.
        log_factor: Logarithm of what scores were multiplied by.
    """

    bias: Vector
    log_factor: float


def fit_same_for_all(
    everything: Batch,
    rows: Rows,
    config: ListwiseConfig,
    generator: torch.Generator,
    prior: Vector | None = None,
) -> Base:
    """One set of weights for all queries.

    Args:
        everything: All queries.
        rows: Those to learn from.
        config: Settings.
        generator: Draws the batches.
        prior: Logits to start from and to be held to, ``(v,)``.

    Raises:
        TrainingError: A number stopped being finite.
    """
    start = np.zeros(everything.present.shape[1], dtype=np.float32)
    start[0] = config.query_logit
    model = SameForAll(start if prior is None else prior)
    log_factor = nn.Parameter(torch.tensor(config.temperature))
    held_to = None if prior is None else torch.from_numpy(np.array(prior, dtype=np.float32))

    def loss(batch: Batch) -> Tensor:
        weights = weights_of(model(batch.states), batch.present)
        found = listwise_loss(batch, weights, log_factor)
        if held_to is None:
            return found
        return found + prior_penalty(model.bias, held_to, config.prior_queries, len(rows))

    _descend(everything, rows, [model.bias, log_factor], loss, config, generator)
    return Base(model.numpy(), float(log_factor.detach()))


def fit_by_query(
    everything: Batch,
    rows: Rows,
    base: Base,
    pull: float,
    config: ByQueryConfig,
    generator: torch.Generator,
) -> Shifted:
    """A network that shifts the weights that are the same for all.

    The loss holds ``pull`` times the mean squared shift beyond a constant: the KL between Gaussians
    of equal variance around both logits, up to a factor.

    Args:
        everything: All queries.
        rows: Those to learn from.
        base: The weights that are the same for all.
        pull: Weight of the pull toward them.
        config: Settings.
        generator: Source of initial weights, batches and dropout.

    Raises:
        TrainingError: A number stopped being finite.
    """
    n_columns = everything.states.shape[1]
    model = Shifted(base.bias, n_columns, config.hidden, generator, dropout=config.dropout)
    log_factor = nn.Parameter(torch.tensor(base.log_factor))

    def loss(batch: Batch) -> Tensor:
        shift = model.shift(batch.states, generator)
        weights = weights_of(model.bias + shift, batch.present)
        beyond_a_constant = shift - shift.mean(dim=1, keepdim=True)
        held = pull * beyond_a_constant.pow(2).mean()
        return listwise_loss(batch, weights, log_factor) + held

    schedule = ListwiseConfig(
        steps=config.steps, batch_size=config.batch_size, learning_rate=config.learning_rate
    )
    _descend(everything, rows, [*model.parameters(), log_factor], loss, schedule, generator)
    return model


def _descend(
    everything: Batch,
    rows: Rows,
    parameters: list[nn.Parameter],
    loss: Callable[[Batch], Tensor],
    config: ListwiseConfig,
    generator: torch.Generator,
) -> None:
    """Adam with a short warm-up and a rate that falls to 0."""
    optimiser = torch.optim.Adam(parameters, lr=config.learning_rate)
    taken = drawn(everything, rows, config.batch_size, config.steps, generator)
    for step, (_, batch) in enumerate(taken):
        rate = min(1.0, (step + 1) / _WARM_UP) * (1.0 - step / config.steps)
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * rate
        found = loss(batch)
        if not bool(torch.isfinite(found)):
            raise TrainingError(
                f"the loss of a blend stopped being finite at step {step + 1}; lower learning_rate"
            )
        optimiser.zero_grad()
        torch.autograd.backward(found)
        optimiser.step()
