"""Queries whose outcomes are known, with what else is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.choices import Problem
from rl_rewriter.evaluation.folds import Rows, cross_validation, given_split
from rl_rewriter.evaluation.significance import group_numbers


@dataclass(frozen=True, eq=False)
class Sample:
    """What headroom is measured on.

    Attributes:
        table: Outcome of every action on each of ``n`` queries.
        groups: One name a query where queries belong together; a group is never divided.
        kinds: One kind a query, for figures by kind.
        halves: The metric by random halves of the judgements, ``(r, 2, n, m)``; NaN for queries
            whose judgements can't be halved.
    """

    table: RewardTable
    groups: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    halves: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check that all of it speaks of the same queries."""
        n, m = self.table.values.shape
        if not n:
            raise InputError("headroom needs at least one query, got none")
        for name, found in (("groups", self.groups), ("kinds", self.kinds)):
            if found is not None and len(found) != n:
                raise InputError(f"got {len(found)} {name} for {n} queries")
        if self.halves is not None and self.halves.shape[1:] != (2, n, m):
            raise InputError(f"halves of shape (r, 2, {n}, {m}) expected, got {self.halves.shape}")

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.table)

    @cached_property
    def n_groups(self) -> int:
        """Number of groups; of queries where none are named."""
        return int(group_numbers(self.groups, len(self)).max()) + 1


def choice_problem(
    sample: Sample, train: Sample | None, folds: int, seed: int
) -> tuple[Problem, Rows]:
    """What is learned from and chosen for, and the rows of it that are the sample's.

    Args:
        sample: The queries that figures are about.
        train: Separate training queries; without them ``sample`` is cross-validated.
        folds: Folds of the cross-validation: of ``train`` where there is one.
        seed: Seed of the folds.

    Raises:
        InputError: There are fewer than two folds, or the tables have other actions or columns.
    """
    table = sample.table
    if train is None:
        division = cross_validation(sample.groups, len(sample), folds, seed)
        problem = Problem.of(table.states, table.values, table.mask, division)
        return problem, np.arange(len(sample))
    learned = train.table
    if (
        learned.action_names != table.action_names
        or learned.states.shape[1:] != (table.states.shape[1:])
    ):
        raise InputError("training and held-out queries must have the same actions and features")
    division = given_split(train.groups, len(train), len(sample), folds, seed)
    problem = Problem.of(
        np.concatenate([learned.states, table.states]),
        np.concatenate([learned.values, table.values]),
        np.concatenate([learned.mask, table.mask]),
        division,
    )
    return problem, len(train) + np.arange(len(sample))
