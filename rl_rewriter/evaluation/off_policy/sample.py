"""Logged outcomes beside what another policy would have done: the input of every estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.logs.usable import PROBABILITY_TOLERANCE

Values = npt.NDArray[np.float64]
"""Shape ``(n,)``: one number a record."""
Index = npt.NDArray[np.intp]
Table = npt.NDArray[np.float64]
"""Shape ``(n, m)``: one number a record and action."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LoggedSample:
    """Records of a logging policy ``p`` and the policy ``pi`` that is to be judged by them.

    Attributes:
        rewards: What was earned, ``(n,)``.
        actions: Index of the action that was taken, ``(n,)``.
        propensities: Probability with which it was taken, ``p(a|x)``, ``(n,)``; NaN where unknown,
            which leaves only the direct method.
        target: Probabilities ``pi(.|x)`` of the policy to be judged, ``(n, m)``.
        logging: Probabilities ``p(.|x)`` of all actions, ``(n, m)``, rows of NaN where unknown;
            asked only which actions had no chance. None where nothing is known.
        predicted: Expected rewards ``q(x, .)`` by a cross-fitted model, ``(n, m)``; None
            leaves out the estimators that need one.
        groups: One number a row, ``(n,)``, from 0 on without gaps: records of one conversation are
            no independent evidence. None where every record stands for itself.
        largest_weight: Importance weights are cut there; None cuts none. Cutting biases estimates
            toward what the logging policy earned, and the share that was cut is reported.
        ratios: What the importance weights are multiplied by, ``(n,)``: where an action has drawn
            numbers, their density under the policy to be judged over that with which they were
            drawn. None where no action has any.
        silence: Why the log can't speak about some of the policy's decisions, and what would help,
            where more is known of it than that they weren't logged.
    """

    rewards: Values
    actions: Index
    propensities: Values
    target: Table
    logging: Table | None = None
    predicted: Table | None = None
    groups: Index | None = None
    largest_weight: float | None = None
    ratios: Values | None = None
    silence: str = ""

    def __post_init__(self) -> None:
        """Check shapes, ranges and that everything but propensities is known."""
        n, m = len(self.rewards), self.target.shape[-1]
        for name, shape in {
            "rewards": (n,),
            "actions": (n,),
            "propensities": (n,),
            "target": (n, m),
            "logging": (n, m),
            "predicted": (n, m),
            "groups": (n,),
            "ratios": (n,),
        }.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InputError(f"{name} must have shape {shape}, got {array.shape}")
        if not n:
            raise InputError("there are no records to estimate from")
        if self.largest_weight is not None and not self.largest_weight > 0:
            raise InputError(f"largest_weight must be positive, got {self.largest_weight}")
        self._check_values()

    def _check_values(self) -> None:
        for name in ("rewards", "target", "predicted", "ratios"):
            array = getattr(self, name)
            # One pass without a temporary: a sum is finite unless a number isn't, or overflows.
            if array is not None and not np.isfinite(array.sum()) and not np.isfinite(array).all():
                raise InputError(f"{name} holds NaN or infinite values")
        if self.actions.min() < 0 or self.actions.max() >= self.target.shape[1]:
            raise InputError(
                f"actions must lie in 0 to {self.target.shape[1] - 1}, got "
                f"{self.actions.min()} to {self.actions.max()}"
            )
        known = self.propensities[~np.isnan(self.propensities)]
        if len(known) and not (known.min() > 0 and known.max() <= 1 + PROBABILITY_TOLERANCE):
            raise InputError(
                f"propensities of logged actions must lie in (0, 1], got {known.min()} to "
                f"{known.max()}"
            )
        if self.groups is not None and not np.bincount(self.groups).all():
            raise InputError("numbers of groups must run from 0 on without gaps")
        for name in ("target", "logging"):
            array = getattr(self, name)
            # Comparisons with NaN are false: unknown rows of logging pass.
            if array is not None and (
                (array < 0).any() or (np.abs(array.sum(axis=1) - 1) > PROBABILITY_TOLERANCE).any()
            ):
                raise InputError(f"rows of {name} must be probabilities that sum to 1")

    def __len__(self) -> int:
        """Number of records."""
        return len(self.rewards)

    @property
    def n_independent(self) -> int:
        """Number of groups, or of records where there are none."""
        return len(self) if self.groups is None else int(self.groups.max()) + 1

    def subset(self, rows: Index) -> LoggedSample:
        """The same sample for some of its records."""
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)
        return replace(
            self,
            rewards=self.rewards[rows],
            actions=self.actions[rows],
            propensities=self.propensities[rows],
            target=self.target[rows],
            logging=None if self.logging is None else self.logging[rows],
            predicted=None if self.predicted is None else self.predicted[rows],
            groups=None if groups is None else groups[1],
            ratios=None if self.ratios is None else self.ratios[rows],
        )

    @cached_property
    def uncut_weights(self) -> Values:
        """Importance weights ``pi(a|x) / p(a|x)``, times the ratios, ``(n,)``.

        Raises:
            InputError: A propensity is unknown.
        """
        unknown = int(np.isnan(self.propensities).sum())
        if unknown:
            raise InputError(
                f"{unknown} of {len(self)} records have no propensity, without which they cannot "
                "be weighted; use the direct method, or leave them out"
            )
        chosen = np.take_along_axis(self.target, self.actions[:, None], axis=1)[:, 0]
        weights = np.asarray(chosen / self.propensities)
        return weights if self.ratios is None else weights * self.ratios

    @cached_property
    def weights(self) -> Values:
        """Importance weights, cut at ``largest_weight``, ``(n,)``."""
        if self.largest_weight is None:
            return self.uncut_weights
        return np.minimum(self.uncut_weights, self.largest_weight)

    @cached_property
    def expected(self) -> Values:
        """What the model expects of the policy, ``sum_a pi(a|x) q(x, a)``, ``(n,)``."""
        return np.asarray(np.einsum("nm,nm->n", self.target, self._model))

    @cached_property
    def residuals(self) -> Values:
        """What the model got wrong on the action taken, ``r - q(x, a)``, ``(n,)``."""
        taken = np.take_along_axis(self._model, self.actions[:, None], axis=1)[:, 0]
        return np.asarray(self.rewards - taken)

    @property
    def _model(self) -> Table:
        if self.predicted is None:
            raise InputError("this estimator needs predicted rewards; give them to the sample")
        return self.predicted
