"""Ways to treat queries, each learned from training outcomes alone: the arms of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rl_rewriter.benchmark.arm_names import BEST_FIXED, ORACLE, POLICY, RANDOM
from rl_rewriter.benchmark.comparison.fits import Fit
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.held_out import Choices, always
from rl_rewriter.evaluation.significance import Values


class Arm(Protocol):
    """Chooses actions for queries that it hasn't seen."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """Choose for the held-out queries.

        Args:
            train: Outcomes to learn from, with raw states.
            held_out: The queries to choose for; honest arms look at states and masks alone.
            rng: For arms that draw.

        Returns:
            Indices of actions, ``(s, n)``, one row a seed.
        """
        ...


@dataclass(frozen=True)
class OneAction:
    """The same action for every query, whatever was learned.

    Attributes:
        name: The action.
    """

    name: str

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """See :meth:`Arm.choose`."""
        return always(held_out.action_names.index(self.name), len(held_out))


@dataclass(frozen=True)
class RandomAction:
    """Any possible action with equal probability.

    Attributes:
        draws: Rows of choices.
    """

    draws: int = 1
    name: str = RANDOM

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """See :meth:`Arm.choose`."""
        keys = rng.random((self.draws, *held_out.mask.shape))
        return np.asarray(np.where(held_out.mask, keys, -1.0).argmax(axis=-1), dtype=np.intp)


@dataclass(frozen=True)
class BestFixed:
    """The action with the highest mean metric on the training queries; keep on ties."""

    name: str = BEST_FIXED

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """See :meth:`Arm.choose`."""
        return always(int(train.values.mean(axis=0).argmax()), len(held_out))


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """The most probable action of policies trained on the training queries.

    Attributes:
        fits: One policy a seed.
    """

    fits: tuple[Fit, ...]
    name: str = POLICY

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """See :meth:`Arm.choose`."""
        return np.stack([chosen_by(fit, held_out)[0] for fit in self.fits])


@dataclass(frozen=True)
class Oracle:
    """The best action of each query in hindsight; keep on ties. Nobody reaches that."""

    name: str = ORACLE

    def choose(
        self, train: RewardTable, held_out: RewardTable, rng: np.random.Generator
    ) -> Choices:
        """See :meth:`Arm.choose`."""
        return np.asarray(held_out.values.argmax(axis=1), dtype=np.intp)[None]


def chosen_by(fit: Fit, table: RewardTable) -> tuple[Choices, Values]:
    """A policy's most probable action of each query, ``(n,)``, and its probability, ``(n,)``.

    Actions that it doesn't know, since no training query could carry them out, are never chosen.
    """
    columns = np.asarray([table.action_names.index(name) for name in fit.action_names])
    distribution = fit.distribution(table.states, table.mask[:, columns])
    chosen = distribution.greedy()
    probabilities = distribution.probabilities[np.arange(len(table)), chosen]
    return np.asarray(columns[chosen], dtype=np.intp), probabilities


def usual_arms(
    action_names: Sequence[str], fits: Sequence[Fit], *, draws: int = 1
) -> tuple[Arm, ...]:
    """Every single action, random, the best single action, the policy and the per-query best.

    Args:
        action_names: All actions.
        fits: Policies of one fold, one a seed; none leaves the policy out.
        draws: Rows of random choices.
    """
    policy = (LearnedPolicy(tuple(fits)),) if fits else ()
    return (
        *(OneAction(name) for name in action_names),
        RandomAction(draws),
        BestFixed(),
        *policy,
        Oracle(),
    )
