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
_NAMED = ("decision_ids", "groups", "policy_versions", "blends")


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
        policy_versions: Version of the policy that took each row's decision, ``n`` or none at all;
            "" where unknown.
        blends: Version of the numbers of each learned blend that the policy could take, by name,
            ``n`` or none at all; empty where it had none, or unknown.
        views: Names of all views that drawn weights are of, ``v``.
        drawn_logits: Logits of the weights that were drawn for each row, less their mean over the
            views that its query has, ``(n, v)``; -inf for views that it doesn't have, NaN for those
            that the blend doesn't have, a row of NaN where none were drawn. None where none of the
            log were.
        log_densities: Log-density of those logits under the logging policy
            (:class:`rl_rewriter.policies.gaussian.GaussianLogits`), ``(n,)``; 0 where none were
            drawn.
        sigmas: Standard deviation with which a blend's logits were drawn in each row, or would have
            been, ``(n,)``; NaN where its weights were served as they are.
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
    policy_versions: tuple[str, ...] = ()
    blends: tuple[Mapping[str, str], ...] = ()
    views: tuple[str, ...] = ()
    drawn_logits: Values | None = None
    log_densities: Values | None = None
    sigmas: Values | None = None

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
            if entry.name in _NAMED and value:
                changed[entry.name] = tuple(value[number] for number in numbers)
            elif isinstance(value, np.ndarray):
                changed[entry.name] = value[numbers]
        return replace(self, **changed)
