"""The logits of a blend with gradients: one bias for all queries, shifted by a small network."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from rl_rewriter.actions.blend_head import TanhNetwork
from rl_rewriter.types import Vector


class SameForAll(nn.Module):
    """One logit a view.

    Args:
        bias: Where it starts, ``(v,)``.
    """

    def __init__(self, bias: Vector) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.from_numpy(np.array(bias, dtype=np.float32)))

    def forward(self, states: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits ``(b, v)``."""
        return self.bias.expand(len(states), -1)

    def numpy(self) -> Vector:
        """The logits as they are now, ``(v,)``."""
        bias: Vector = self.bias.detach().numpy().copy()
        return bias


class Shifted(nn.Module):
    """A bias that stays as it is, plus what a network of tanh units makes of the state.

    Its last layer starts at zero: without training it is the bias.

    Args:
        bias: Shape ``(v,)``.
        n_columns: Length of the state.
        hidden: Number of units.
        generator: Source of the initial weights.
        dropout: Share of state columns left out at random in training.
    """

    bias: Tensor

    def __init__(
        self,
        bias: Vector,
        n_columns: int,
        hidden: int,
        generator: torch.Generator,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("bias", torch.from_numpy(np.array(bias, dtype=np.float32)))
        bound = 1.0 / max(1, n_columns) ** 0.5
        self.inner = nn.Parameter(_uniform((hidden, n_columns), bound, generator))
        self.inner_bias = nn.Parameter(_uniform((hidden,), bound, generator))
        self.outer = nn.Parameter(torch.zeros(len(bias), hidden))
        self._dropout = dropout

    def shift(self, states: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """What is added to the bias, ``(b, v)``.

        Args:
            states: Standardised states, ``(b, s)``.
            generator: Draws what is dropped out; None drops nothing.
        """
        if generator is not None and self._dropout:
            kept = torch.rand(states.shape, generator=generator) >= self._dropout
            states = states * kept / (1.0 - self._dropout)
        return torch.tanh(states @ self.inner.T + self.inner_bias) @ self.outer.T

    def forward(self, states: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits ``(b, v)`` (see :meth:`shift`)."""
        return self.bias + self.shift(states, generator)

    def numpy(self) -> TanhNetwork:
        """The network as it is now."""
        parts = (self.inner, self.inner_bias, self.outer)
        return TanhNetwork(*(part.detach().numpy().copy() for part in parts))

    @classmethod
    def restore(cls, bias: Vector, network: TanhNetwork, *, dropout: float = 0.0) -> Shifted:
        """A module whose shift is the network's."""
        hidden, n_columns = network.inner.shape
        module = cls(bias, n_columns, hidden, torch.Generator(), dropout=dropout)
        with torch.no_grad():
            module.inner.copy_(torch.from_numpy(network.inner))
            module.inner_bias.copy_(torch.from_numpy(network.inner_bias))
            module.outer.copy_(torch.from_numpy(network.outer))
        return module


def generator_of(*numbers: int) -> torch.Generator:
    """A generator that these numbers name."""
    seed = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    return torch.Generator().manual_seed(seed)


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> Tensor:
    return (2.0 * torch.rand(shape, generator=generator) - 1.0) * bound
