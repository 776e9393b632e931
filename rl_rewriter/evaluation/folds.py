"""Which rows are learned from and which are chosen for, never dividing what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.significance import group_numbers

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Folds:
    """A division of ``n`` rows.

    Attributes:
        number: Fold of each row, ``(n,)``.
        chosen_for: Folds whose rows get a choice, learned on the rows of all other folds.
        groups: Number of each row's group, ``(n,)``; a group lies in one fold.
    """

    number: Rows
    chosen_for: tuple[int, ...]
    groups: Rows

    @property
    def n_folds(self) -> int:
        """All folds, those that are only learned from included."""
        return int(self.number.max()) + 1

    def shuffled(self, rng: np.random.Generator) -> Rows:
        """Rows in another order, ``(n,)``: those that are learned from change places.

        Groups stay in one piece, so that what is alike within a group stays side by side.
        """
        is_only_chosen_for = self.n_folds > 1 and len(self.chosen_for) < self.n_folds
        moved = (
            np.flatnonzero(~np.isin(self.number, self.chosen_for))
            if is_only_chosen_for
            else np.arange(len(self.number))
        )
        groups = self.groups[moved]
        rank = rng.permutation(int(self.groups.max()) + 1)[groups]
        order = np.arange(len(self.number))
        order[moved[np.argsort(groups, kind="stable")]] = moved[np.argsort(rank, kind="stable")]
        return order


def cross_validation(groups: Sequence[str] | None, n: int, folds: int, seed: int) -> Folds:
    """Every row is chosen for once, and learned from elsewhere.

    Args:
        groups: One name a row; every row stands for itself by default.
        n: Number of rows.
        folds: Number of folds, of which there are no more than groups.
        seed: Seed of the division.

    Raises:
        InputError: There are fewer than two folds.
    """
    index = group_numbers(groups, n)
    number = _divided(index, folds, seed)
    return Folds(number, tuple(range(int(number.max()) + 1)), index)


def given_split(
    train_groups: Sequence[str] | None, n_train: int, n_test: int, folds: int, seed: int
) -> Folds:
    """The first rows are learned from, the others are chosen for.

    Args:
        train_groups: One name a training row; every row stands for itself by default.
        n_train: Number of training rows.
        n_test: Number of rows chosen for, which follow them.
        folds: Folds of the training rows, for settings that are chosen within them.
        seed: Seed of the division.

    Raises:
        InputError: There are fewer than two folds.
    """
    index = group_numbers(train_groups, n_train)
    number = _divided(index, folds, seed)
    last = int(number.max()) + 1
    return Folds(
        np.concatenate([number, np.full(n_test, last)]),
        (last,),
        np.concatenate([index, int(index.max()) + 1 + np.arange(n_test)]),
    )


def _divided(index: Rows, folds: int, seed: int) -> Rows:
    if folds < 2:
        raise InputError(f"at least two folds are needed to cross-validate, got {folds}")
    n_groups = int(index.max()) + 1
    fold = np.empty(n_groups, dtype=np.intp)
    fold[np.random.default_rng(seed).permutation(n_groups)] = np.arange(n_groups) % folds
    return fold[index]
