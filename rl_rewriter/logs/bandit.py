"""Logged bandit data in arrays, the common ground of learning and judging offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.logs.columns import numbered
from rl_rewriter.types import Matrix

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LoggedBandit:
    """``n`` decisions among ``m`` actions in states of ``d`` numbers, and their rewards.

    Attributes:
        decision_ids: Names of the decisions, ``n``.
        action_names: Union of all actions, ``m``, keep first.
        columns_fingerprint: ``state_schema`` that all rows have in common; "" where none has.
        states: Raw features, ``(n, d)``; ``d`` is 0 where no states were logged.
        actions: Index of the action taken, ``(n,)``.
        propensities: Probability with which it was taken, ``(n,)``; NaN where unknown.
        probabilities: Logging distribution, ``(n, m)``, 0 where masked; a row of NaN where unknown.
        mask: Actions that were possible, ``(n, m)``; all True where unknown.
        rewards: Composed reward, ``(n,)``.
        groups: Conversation or trace of each row, else the decision's own id, ``n``.
        times: Seconds since the epoch, ``(n,)``.
        parts: What the rewards are composed of: kind -> ``(n,)``, NaN where nothing came.
        weights: What each row counts for in every mean and fit, ``(n,)``, positive; None where all
            count alike.
    """

    decision_ids: tuple[str, ...]
    action_names: tuple[str, ...]
    columns_fingerprint: str
    states: Matrix
    actions: npt.NDArray[np.intp]
    propensities: Values
    probabilities: Values
    mask: npt.NDArray[np.bool_]
    rewards: Values
    groups: tuple[str, ...]
    times: Values
    parts: Mapping[str, Values] = field(default_factory=dict)
    weights: Values | None = None

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.decision_ids)

    @cached_property
    def group_numbers(self) -> npt.NDArray[np.intp] | None:
        """Number of each row's group, ``(n,)``; None where each row is a group of its own."""
        numbers = numbered(self.groups)
        is_own = len(numbers) == 0 or int(numbers.max()) + 1 == len(numbers)
        return None if is_own else numbers

    def subset(self, rows: npt.ArrayLike) -> LoggedBandit:
        """Some rows, in the order given.

        Args:
            rows: Row numbers, or one boolean a row.
        """
        chosen = np.asarray(rows)
        numbers = np.arange(len(self))[chosen if chosen.size else np.zeros(0, dtype=np.intp)]
        changed: dict[str, Any] = {"parts": {k: v[numbers] for k, v in self.parts.items()}}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in ("decision_ids", "groups"):
                changed[entry.name] = tuple(value[number] for number in numbers)
            elif isinstance(value, np.ndarray):
                changed[entry.name] = value[numbers]
        return replace(self, **changed)
