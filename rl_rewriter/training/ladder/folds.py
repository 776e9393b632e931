"""Folds by group, and what a mean difference is uncertain by where groups belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.table import Rows
from rl_rewriter.policies.protocols import Values


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """A division of ``n`` rows into folds that never divides a group.

    Attributes:
        groups: Number of each row's group, ``(n,)``.
        number: Fold of each row, ``(n,)``.
    """

    groups: Rows
    number: Rows

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    def parts(self) -> Iterator[tuple[Rows, Rows]]:
        """For each fold the rows of all others, and its own."""
        for fold in range(int(self.number.max()) + 1):
            is_held_out = self.number == fold
            yield np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)

    def standard_error(self, differences: Values) -> float:
        """Of the mean of one difference a row, ``(n,)``, with groups as what is drawn."""
        n_groups = self.n_groups
        if n_groups < 2:
            return float("inf")
        off = np.bincount(self.groups, weights=differences - differences.mean())
        squares = float((off * off).sum()) * n_groups / (n_groups - 1)
        return float(np.sqrt(squares) / len(differences))

    def divided_anew(self, seed: int | Sequence[int]) -> GroupFolds:
        """Other folds of the same rows, as many of them."""
        return _divided(self.groups, int(self.number.max()) + 1, seed)


def group_folds(groups: Sequence[str], folds: int, seed: int) -> GroupFolds:
    """Divide rows at random, no more folds than groups.

    Args:
        groups: One name a row.
        folds: Number of folds.
        seed: Seed of the division.
    """
    _, index = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    return _divided(index.astype(np.intp), folds, seed)


def _divided(groups: Rows, folds: int, seed: int | Sequence[int]) -> GroupFolds:
    n_groups = int(groups.max()) + 1
    fold = np.empty(n_groups, dtype=np.intp)
    order = np.random.default_rng(seed).permutation(n_groups)
    fold[order] = np.arange(n_groups) % min(folds, n_groups)
    return GroupFolds(groups, fold[groups])
