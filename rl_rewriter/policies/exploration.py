"""How served decisions are drawn, so that their log can teach something."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.base import KEEP
from rl_rewriter.actions.blend_logits import SIGMAS
from rl_rewriter.errors import InputError

Around = Literal["policy", "greedy", "keep"]
Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """A distribution around what a policy would do.

    ``(1 - epsilon) base + epsilon uniform`` over the possible actions, with ``base`` the policy's
    distribution ``p^(1/temperature)`` (normalised), or all on its most probable action, or all on
    keep. Then each action's probability is cut at its cap, and what is cut off goes to keep.

    Attributes:
        around: What the base is.
        epsilon: Share that is drawn evenly from all possible actions.
        temperature: Of the policy's distribution: below 1 sharpens it, above 1 flattens it.
        caps: Highest probability of an action, by name; keep has none.
        sigma: Standard deviation of the logits of a learned blend's weights, which are drawn around
            those that it serves (:class:`rl_rewriter.policies.gaussian.GaussianBlend`) where that
            action is drawn; 0 draws none.
    """

    around: Around = "policy"
    epsilon: float = 0.0
    temperature: float = 1.0
    caps: Mapping[str, float] = field(default_factory=dict)
    sigma: float = 0.0

    def __post_init__(self) -> None:
        """Refuse settings that make no distribution."""
        if self.around not in ("policy", "greedy", "keep"):
            raise InputError(f'around must be "policy", "greedy" or "keep", got {self.around!r}')
        if not 0.0 <= self.epsilon <= 1.0:
            raise InputError(f"epsilon must lie in [0, 1], got {self.epsilon}")
        if not 0.0 < self.temperature < math.inf:
            raise InputError(f"temperature must be finite and > 0, got {self.temperature}")
        wrong = {name: cap for name, cap in self.caps.items() if not 0.0 <= cap <= 1.0}
        if wrong or KEEP in self.caps:
            raise InputError(f"caps must lie in [0, 1], and keep has none, got {dict(self.caps)}")
        if self.sigma and not SIGMAS[0] <= self.sigma <= SIGMAS[1]:  # false for NaN
            raise InputError(
                f"sigma must be 0 or lie in [{SIGMAS[0]}, {SIGMAS[1]}], got {self.sigma}"
            )

    def of(self, policy: Probabilities, names: Sequence[str]) -> Probabilities:
        """The distributions that actions are drawn from.

        Args:
            policy: The policy's own, ``(n, m)``: 0 where an action is impossible, keep first.
            names: Names of the ``m`` actions.

        Returns:
            Probabilities ``(n, m)``; rows sum to 1.
        """
        possible = policy > 0
        possible[:, 0] = True
        even = possible / possible.sum(axis=1, keepdims=True)
        drawn = (1.0 - self.epsilon) * self._base(policy) + self.epsilon * even
        if self.caps:
            cap = np.asarray([self.caps.get(name, 1.0) for name in names])
            drawn = np.minimum(drawn, cap)
            drawn[:, 0] += 1.0 - drawn.sum(axis=1)
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))

    def _base(self, policy: Probabilities) -> Probabilities:
        if self.around == "policy" and self.temperature == 1.0:
            return policy
        if self.around == "policy":
            # Relative to the most probable action, which stays at 1: a power may not lose them all.
            relative = policy / policy.max(axis=1, keepdims=True)
            sharpened = relative ** (1.0 / self.temperature)
            return np.asarray(sharpened / sharpened.sum(axis=1, keepdims=True))
        base = np.zeros_like(policy)
        best = policy.argmax(axis=1) if self.around == "greedy" else 0
        base[np.arange(len(policy)), best] = 1.0
        return base


THE_POLICY = Exploration()
"""Draw from the policy's own distribution."""
EVENLY = Exploration(around="keep", epsilon=1.0)
"""Draw every possible action alike."""
