"""What every policy is: for a batch of states, a distribution over actions."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Matrix

Mask = npt.NDArray[np.bool_]
"""Shape ``(n, m)``: which of ``m`` actions can be carried out for which of ``n`` queries."""
Actions = npt.NDArray[Any]
"""Integers ``(n,)`` where actions are listed, floats ``(n, p)`` where an action is a point."""
Values = npt.NDArray[np.float64]
"""Shape ``(n,)``: one number a query."""

DistributionT = TypeVar("DistributionT", bound="ActionDistribution", covariant=True)


class ActionDistribution(Protocol):
    """Distributions over actions for ``n`` queries.

    The categorical distribution is one case; a density over weights is another. A propensity is
    ``exp(log_prob)``: a probability or a density.
    """

    def sample(self, rng: np.random.Generator) -> Actions:
        """Draw one action a query."""
        ...

    def greedy(self) -> Actions:
        """The most probable action a query."""
        ...

    def log_prob(self, actions: Actions) -> Values:
        """Log-probability or log-density of given actions, ``(n,)``."""
        ...

    def kl(self, other: Any) -> Values:
        """``KL(self || other)`` for each query, ``(n,)``, in nats; exact where it can be."""
        ...

    def entropy(self) -> Values:
        """Entropy for each query, ``(n,)``, in nats."""
        ...


class Policy(Protocol[DistributionT]):
    """Acts; learning is the trainer's business.

    Attributes:
        name: What kind of policy it is.
        version: Hash of what it has learned: equal versions decide equally.
    """

    @property
    def name(self) -> str:
        """What kind of policy it is."""
        ...

    @property
    def version(self) -> str:
        """Hash of what it has learned."""
        ...

    def distribution(self, states: Matrix, mask: Mask) -> DistributionT:
        """Distributions for states ``(n, d)`` under a mask ``(n, m)``."""
        ...
