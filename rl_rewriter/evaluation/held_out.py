"""What each arm reaches on held-out queries: choices of actions laid over tables of values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.comparison import Comparison, compare
from rl_rewriter.evaluation.many import Systems, compare_many, intervals
from rl_rewriter.evaluation.significance import Values

Choices = npt.NDArray[np.intp]
"""Shape ``(s, n)``: index of the action taken, one row a seed, one column a query."""


_SEED = re.compile(r"~\d+$")


def seed_name(action: str, number: int) -> str:
    """Name of an action that several seeds learned, each in its way: the first one is plain."""
    return f"{action}~{number}" if number else action


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOut:
    """Arms on the same ``n`` held-out queries.

    Attributes:
        action_names: Names of the ``m`` actions, keep first.
        metric: Name of the metric that choices are judged by.
        values: Metric name -> value of every action on every query, ``(n, m)``.
        choices: Arm -> what it chooses, ``(s, n)``. An arm that learns has a row for each seed, and
            its value on a query is the mean over them.
        groups: What each query belongs to, where some belong together.
        seed: Seed of tests and intervals.
    """

    action_names: tuple[str, ...]
    metric: str
    values: Mapping[str, npt.NDArray[np.float64]]
    choices: Mapping[str, Choices]
    groups: Sequence[str] | None = None
    seed: int = 0
    _rows: npt.NDArray[np.intp] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Number the queries once."""
        object.__setattr__(self, "_rows", np.arange(len(self.values[self.metric])))

    def __len__(self) -> int:
        """Number of queries."""
        return len(self._rows)

    def of(self, arm: str, metric: str | None = None) -> Values:
        """Value of an arm on each query, ``(n,)``, the mean over its seeds."""
        return np.asarray(self.by_seed(arm, metric).mean(axis=0))

    def by_seed(self, arm: str, metric: str | None = None) -> Systems:
        """Value of an arm on each query for each of its seeds, ``(s, n)``."""
        return np.asarray(self.values[metric or self.metric][self._rows, self.choices[arm]])

    def picked(self, arm: str, per_cell: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
        """An arm's cells of any array ``(n, m, ...)``, the mean over its seeds, ``(n, ...)``."""
        return np.asarray(per_cell[self._rows, self.choices[arm]].mean(axis=0), dtype=np.float64)

    def means(self) -> dict[str, float]:
        """Mean of every action; of one that several seeds learned, the first one's."""
        columns = self.values[self.metric].mean(axis=0).tolist()
        named = zip(self.action_names, columns, strict=True)
        return {name: value for name, value in named if self._learned(name) == name}

    def action_share(self, arm: str, rows: npt.NDArray[np.intp] | None = None) -> dict[str, float]:
        """Part of the queries that an arm gives to each action it takes, the largest first.

        Args:
            arm: The arm.
            rows: Some of the queries; all of them by default.
        """
        chosen = self.choices[arm] if rows is None else self.choices[arm][:, rows]
        counts = np.bincount(chosen.ravel(), minlength=len(self.action_names))
        shares: dict[str, float] = {}
        for name, count in zip(self.action_names, counts.tolist(), strict=True):
            learned = self._learned(name)
            shares[learned] = shares.get(learned, 0.0) + count / chosen.size
        return {
            name: shares[name] for name in sorted(shares, key=lambda n: -shares[n]) if shares[name]
        }

    def _learned(self, name: str) -> str:
        """Name of what several seeds learned; other actions may look alike and keep theirs."""
        plain = _SEED.sub("", name)
        return plain if plain in self.action_names else name

    def versus(self, arm: str, baseline: str) -> Comparison:
        """An arm against another, paired by query."""
        return compare(self.of(arm), self.of(baseline), groups=self.groups, seed=self.seed)

    def versus_keep(self, arms: Sequence[str]) -> dict[str, Comparison]:
        """Several arms against keep, with draws that they share."""
        if not arms:
            return {}
        systems = np.stack([self.of(arm) for arm in arms])
        keep = self.values[self.metric][:, 0]
        found = compare_many(systems, keep, groups=self.groups, seed=self.seed)
        return dict(zip(arms, found, strict=True))

    def intervals(self) -> dict[str, tuple[float, float]]:
        """95% interval of each arm's mean."""
        systems = np.stack([self.of(arm) for arm in self.choices])
        ends = intervals(systems, groups=self.groups, seed=self.seed).tolist()
        return {arm: (low, high) for arm, (low, high) in zip(self.choices, ends, strict=True)}


def always(action: int, n: int) -> Choices:
    """One action for all ``n`` queries, ``(1, n)``."""
    return np.full((1, n), action, dtype=np.intp)
