"""Gives a blend its weights: the same for all, shifted by small networks on the state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.blend_gate import BlendGate
from rl_rewriter.errors import CheckpointError
from rl_rewriter.types import Matrix, Vector

_CLIP = 3.0
"""Standard deviations beyond which a feature says no more."""
_SHARED = ("bias", "scale", "mean", "spread")
_NETWORK = ("inner", "inner_bias", "outer")


@dataclass(frozen=True, eq=False)
class TanhNetwork:
    """``outer tanh(inner x + inner_bias)``, a shift of the logits.

    Attributes:
        inner: Shape ``(h, s)``.
        inner_bias: Shape ``(h,)``.
        outer: Shape ``(v, h)``.
    """

    inner: Matrix
    inner_bias: Vector
    outer: Matrix

    def shift(self, states: Matrix) -> Matrix:
        """Shifts ``(n, v)`` for standardised states ``(n, s)``."""
        shift: Matrix = np.tanh(states @ self.inner.T + self.inner_bias) @ self.outer.T
        return shift


@dataclass(frozen=True, eq=False)
class BlendHead:
    """Weights of views by query, in numpy, so that serving needs no torch.

    Attributes:
        views: Names of the views, ``v`` of them, the query first.
        bias: Logits of the weights that are the same for all, ``(v,)``.
        scale: Typical range of a view's scores among the candidates of a query, ``(v,)``: scores
            are divided by it before they are weighted.
        mean: Of the raw state columns, ``(s,)``.
        spread: Of the raw state columns, ``(s,)``, above 0.
        networks: Their weights are averaged; none gives the same weights to all queries.
        strength: 1 takes the weights as they are, 0 keeps the query alone: what caution leaves.
        sigma: Standard deviation of the logits in tuning by REINFORCE; what serving draws with is a
            setting of exploration.
        gate: Where the blend is served, and the query alone elsewhere; None serves it everywhere.
    """

    views: tuple[str, ...]
    bias: Vector
    scale: Vector
    mean: Vector
    spread: Vector
    networks: tuple[TanhNetwork, ...] = ()
    strength: float = 1.0
    sigma: float = 0.4
    gate: BlendGate | None = None

    def logits(self, raw: Matrix) -> list[Matrix]:
        """Logits ``(n, v)`` of each network, or of the bias alone, for raw states ``(n, s)``."""
        same = np.broadcast_to(self.bias, (len(raw), len(self.bias)))
        if not self.networks:
            return [same]
        states = self._states(raw)
        return [same + network.shift(states) for network in self.networks]

    def is_open(self, raw: Matrix) -> npt.NDArray[np.bool_]:
        """Where the blend is served, ``(n,)``, for raw states ``(n, s)``."""
        if self.gate is None:
            return np.ones(len(raw), dtype=np.bool_)
        return self.gate.is_open(self._states(raw))

    def _states(self, raw: Matrix) -> Matrix:
        states: Matrix = np.clip((raw - self.mean) / self.spread, -_CLIP, _CLIP).astype(np.float32)
        return states

    def weights(self, raw: Matrix, present: npt.NDArray[np.bool_]) -> Matrix:
        """Weights ``(n, v)`` that are served, 0 for absent views, each row summing to 1.

        Args:
            raw: Raw states, ``(n, s)``.
            present: Which views each query has, ``(n, v)``; always the first.
        """
        weights = self.weights_where_open(raw, present)
        weights[~self.is_open(raw)] = np.eye(1, len(self.views), dtype=np.float32)
        return weights

    def weights_where_open(self, raw: Matrix, present: npt.NDArray[np.bool_]) -> Matrix:
        """The same as if the gate let every query through."""
        found = [masked_softmax(logits, present) for logits in self.logits(raw)]
        weights: Matrix = self.strength * np.mean(found, axis=0, dtype=np.float32)
        weights[:, 0] += 1.0 - self.strength
        return weights

    def arrays(self) -> dict[str, Matrix]:
        """All numbers by name, for a checkpoint."""
        named: dict[str, Matrix] = {name: getattr(self, name) for name in _SHARED}
        named["factors"] = np.asarray([self.strength, self.sigma], dtype=np.float32)
        for number, network in enumerate(self.networks):
            named.update({f"{number}.{part}": getattr(network, part) for part in _NETWORK})
        return named if self.gate is None else {**named, **self.gate.arrays()}

    @cached_property
    def version(self) -> str:
        """Hash of the views and of all numbers."""
        digest = hashlib.sha256("\n".join(self.views).encode())
        for name, array in sorted(self.arrays().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array, dtype=np.float32).tobytes())
        return digest.hexdigest()[:12]

    @classmethod
    def restore(cls, views: Sequence[str], arrays: Mapping[str, Matrix]) -> BlendHead:
        """Rebuild from :meth:`arrays`.

        Raises:
            CheckpointError: An array is missing, has another shape, or holds NaN or infinity.
        """
        n_views = len(views)
        try:
            bias, scale, mean, spread = (arrays[name] for name in _SHARED)
            strength, sigma = (float(factor) for factor in arrays["factors"])
            networks: list[TanhNetwork] = []
            while f"{len(networks)}.inner" in arrays:
                parts = (arrays[f"{len(networks)}.{part}"] for part in _NETWORK)
                networks.append(TanhNetwork(*parts))
            gate = BlendGate.restore(arrays)
        except (KeyError, ValueError, TypeError) as error:
            raise CheckpointError(f"the learned blend is not complete: {error!r}") from None
        fits = bias.shape == scale.shape == (n_views,) and mean.shape == spread.shape == mean.shape
        fits = fits and mean.ndim == 1 and 0.0 <= strength <= 1.0 and sigma > 0.0
        fits = fits and (gate is None or gate.fits(len(mean)))
        for network in networks:
            width = network.inner_bias.shape
            fits = fits and len(width) == 1 and network.inner.shape == width + mean.shape
            fits = fits and network.outer.shape == (n_views, *width)
        finite = all(np.isfinite(array).all() for array in arrays.values())
        if not (fits and finite and (scale > 0).all() and (spread > 0).all()):
            raise CheckpointError("the learned blend holds numbers that don't fit; train it again")
        return cls(tuple(views), bias, scale, mean, spread, tuple(networks), strength, sigma, gate)


def masked_softmax(logits: Matrix, present: npt.NDArray[np.bool_]) -> Matrix:
    """Softmax over the present views, 0 elsewhere, ``(n, v)``."""
    masked = np.where(present, logits, -np.inf)
    exponents = np.exp(masked - masked.max(axis=1, keepdims=True))
    shares: Matrix = (exponents / exponents.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares
