"""The learned categorical policy, evaluated in numpy so that serving needs no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.categorical import Categorical, masked_softmax
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Layer:
    """An affine map ``x W^T + b``.

    Attributes:
        weight: Shape ``(out, in)``.
        bias: Shape ``(out,)``.
    """

    weight: Matrix
    bias: Vector


@dataclass(frozen=True, eq=False)
class MlpPolicy:
    """State -> hidden layers with ReLU -> softmax over the unmasked actions.

    Attributes:
        layers: At least the output layer.
        name: What kind of policy it is.
    """

    layers: tuple[Layer, ...]
    name: str = "mlp"

    @property
    def n_features(self) -> int:
        """Length of the state vector."""
        return int(self.layers[0].weight.shape[1])

    @property
    def n_actions(self) -> int:
        """Number of actions, masked ones included."""
        return int(self.layers[-1].weight.shape[0])

    @cached_property
    def version(self) -> str:
        """Hash of all weights."""
        digest = hashlib.sha256()
        for layer in self.layers:
            digest.update(layer.weight.tobytes())
            digest.update(layer.bias.tobytes())
        return digest.hexdigest()[:12]

    def logits(self, states: Matrix) -> Matrix:
        """Unmasked logits, ``(n, m)``, for states ``(n, d)``."""
        hidden = states
        for layer in self.layers[:-1]:
            hidden = np.maximum(hidden @ layer.weight.T + layer.bias, 0.0)
        output: Matrix = hidden @ self.layers[-1].weight.T + self.layers[-1].bias
        return output

    def distribution(self, states: Matrix, mask: Mask) -> Categorical:
        """Masked action probabilities for states ``(n, d)`` and masks ``(n, m)``."""
        return Categorical(masked_softmax(self.logits(states), mask))

    def arrays(self) -> dict[str, Matrix]:
        """Weights by name, for a checkpoint."""
        named: dict[str, Matrix] = {}
        for number, layer in enumerate(self.layers):
            named[f"policy.{number}.weight"] = layer.weight
            named[f"policy.{number}.bias"] = layer.bias
        return named

    @classmethod
    def restore(cls, arrays: Mapping[str, Matrix]) -> MlpPolicy:
        """Rebuild from :meth:`arrays`.

        Raises:
            CheckpointError: A layer is missing, sizes don't chain, or a number isn't finite.
        """
        layers: list[Layer] = []
        while f"policy.{len(layers)}.weight" in arrays:
            prefix = f"policy.{len(layers)}"
            weight, bias = arrays[f"{prefix}.weight"], arrays.get(f"{prefix}.bias")
            fits = not layers or weight.shape[1:] == layers[-1].bias.shape
            if bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1] or not fits:
                raise CheckpointError(f"layer {len(layers)} of the policy has the wrong shape")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise CheckpointError(f"layer {len(layers)} of the policy holds NaN or infinity")
            layers.append(Layer(weight, bias))
        if not layers:
            raise CheckpointError("the checkpoint holds no policy weights")
        return cls(tuple(layers))
