"""The torch twin of the numpy policy: the same weights, with gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from rl_rewriter.policies.mlp import Layer, MlpPolicy

_MASKED = -1e9


class PolicyNetwork(nn.Module):
    """MLP from states to masked log-probabilities.

    Args:
        n_features: Length of the state.
        n_actions: Number of actions.
        hidden: Sizes of the hidden layers.
        prior: Log-probabilities that the untrained network gives, ``(m,)``.
        generator: Source of the initial weights.
        dropout: Share of state columns and hidden units left out at random in training.
    """

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        hidden: Sequence[int],
        prior: Tensor,
        generator: torch.Generator,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = [n_features, *hidden, n_actions]
        # Made without memory, since a layer's own initialisation draws from global random state.
        self.layers = [
            nn.Linear(before, after, device="meta").to_empty(device="cpu")
            for before, after in pairwise(sizes)
        ]
        for number, layer in enumerate(self.layers):
            self.add_module(f"layer_{number}", layer)
        self._dropout = dropout
        for layer in self.layers:
            bound = (6.0 / layer.in_features) ** 0.5
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            self.layers[-1].weight.mul_(0.01)
            self.layers[-1].bias.copy_(prior)

    def forward(
        self, states: Tensor, mask: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Log-probabilities ``(b, m)`` of states ``(b, d)``, very low where masked.

        Args:
            states: What the policy sees.
            mask: Which actions can be carried out.
            generator: Draws what is dropped out; None drops nothing.
        """
        hidden = self._thinned(states, generator)
        for layer in self.layers[:-1]:
            hidden = self._thinned(torch.relu(layer(hidden)), generator)
        logits = self.layers[-1](hidden).masked_fill(~mask, _MASKED)
        return torch.log_softmax(logits, dim=-1)

    def _thinned(self, values: Tensor, generator: torch.Generator | None) -> Tensor:
        """Dropout with a generator of our own: torch's would draw from the global one."""
        if generator is None or self._dropout == 0:
            return values
        kept = torch.rand(values.shape, generator=generator) >= self._dropout
        return values * kept / (1.0 - self._dropout)

    def policy(self) -> MlpPolicy:
        """The present weights as a numpy policy."""
        return MlpPolicy(
            tuple(Layer(_numpy(layer.weight), _numpy(layer.bias)) for layer in self.layers)
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: for networks this small, handing work to a second costs more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _numpy(parameter: Tensor) -> np.ndarray:
    return parameter.detach().numpy().astype(np.float32, copy=True)
