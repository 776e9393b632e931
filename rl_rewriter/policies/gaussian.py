"""The policy that gives a learned blend its weights: a Gaussian over the logits of its views."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.blend_logits import LEAST_WEIGHT, Logits, logits_of
from rl_rewriter.errors import InputError
from rl_rewriter.policies.protocols import Actions, Mask, Values
from rl_rewriter.text.digests import digest
from rl_rewriter.types import Matrix


@dataclass(frozen=True, eq=False)
class GaussianLogits:
    """One Gaussian a query over the logits of ``k`` present views, the same in every direction.

    Softmax ignores a shift of all logits, so they are taken less their mean over the present views.
    That leaves ``k - 1`` dimensions, and densities are those of the Lebesgue measure on them:
    ``(2 pi sigma^2)^(-(k - 1) / 2) exp(-|z - centre|^2 / (2 sigma^2))``. With a single view there
    is nothing to draw, and the density is 1.

    Attributes:
        centre: Centred logits, ``(n, v)``; -inf for absent views.
        sigma: Standard deviation in each direction, ``(n,)``.
    """

    centre: Logits
    sigma: Values

    @cached_property
    def present(self) -> Mask:
        """Which views each query has, ``(n, v)``."""
        return np.isfinite(self.centre)

    @cached_property
    def dimensions(self) -> Values:
        """Dimensions ``k - 1`` of what is drawn, ``(n,)``."""
        return np.asarray(np.maximum(self.present.sum(axis=1) - 1.0, 0.0))

    def sample(self, rng: np.random.Generator) -> Actions:
        """Draw centred logits, ``(n, v)``; -inf for absent views."""
        noise = rng.standard_normal(self.centre.shape)
        return self.centre + self.sigma[:, None] * self._centred(noise)

    def greedy(self) -> Actions:
        """The most probable logits, ``(n, v)``: the centre."""
        return self.centre

    def log_prob(self, actions: Actions) -> Values:
        """Log-densities of logits ``(n, v)``, whatever their shift, ``(n,)``."""
        off = self._centred(self._between(actions)) / self.sigma[:, None]
        return np.asarray(-0.5 * (off**2).sum(axis=1) - self.dimensions * self._log_scale)

    def kl(self, other: GaussianLogits) -> Values:
        """Exact divergence, ``(n,)``, from a Gaussian over the same views.

        Raises:
            InputError: They are over other views.
        """
        if not np.array_equal(self.present, other.present):
            raise InputError("cannot compare distributions over the weights of other views")
        off = (self._between(other.centre) ** 2).sum(axis=1)
        ratio = (self.sigma / other.sigma) ** 2
        spread = self.dimensions * (ratio - 1.0 - np.log(ratio))
        return np.asarray(0.5 * (spread + off / other.sigma**2))

    def entropy(self) -> Values:
        """Differential entropy, ``(n,)``, in nats; negative where little is drawn."""
        return np.asarray(self.dimensions * (0.5 + self._log_scale))

    @property
    def _log_scale(self) -> Values:
        return np.asarray(np.log(self.sigma) + 0.5 * math.log(2.0 * math.pi))

    def _between(self, logits: Logits) -> Logits:
        """Logits less the centre; 0 for absent views."""
        return np.subtract(logits, self.centre, where=self.present, out=np.zeros(logits.shape))

    def _centred(self, values: Logits) -> Logits:
        """Values less their mean over the present views; 0 for the others."""
        inside = np.where(self.present, values, 0.0)
        means = inside.sum(axis=1, keepdims=True) / (self.dimensions[:, None] + 1.0)
        return np.where(self.present, inside - means, 0.0)


@dataclass(frozen=True, eq=False)
class GaussianBlend:
    """Draws the logits of a blend around those of the weights that it serves.

    Attributes:
        head: Gives the weights that are served without drawing.
        sigma: Standard deviation of the logits.
    """

    head: BlendHead
    sigma: float

    @property
    def name(self) -> str:
        """What kind of policy it is."""
        return "gaussian-blend"

    @cached_property
    def version(self) -> str:
        """Hash of the head's numbers and of sigma."""
        return digest([self.head.version, repr(self.sigma)])[:12]

    def distribution(self, states: Matrix, mask: Mask) -> GaussianLogits:
        """Distributions for raw states ``(n, s)`` and the views that queries have, ``(n, v)``."""
        return GaussianLogits(centre_of(self.head, states, mask), np.full(len(states), self.sigma))


def centre_of(head: BlendHead, states: Matrix, present: Mask) -> Logits:
    """Centred logits of the weights that a head serves, ``(n, v)``; -inf for absent views.

    They are the head's own logits where it has one network or none and full strength. Several
    networks' weights are averaged and a strength moves them toward the query, so in general they
    are logarithms of what is served; weights below a thousandth count as a thousandth.

    Args:
        head: The head.
        states: Raw states, ``(n, s)``.
        present: Which views each query has, ``(n, v)``; always the first.
    """
    weights = head.weights(states, present)
    return logits_of(np.where(present, np.maximum(weights, LEAST_WEIGHT), 0.0))
