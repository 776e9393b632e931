"""What every action would have earned on logged decisions, of which each shows but one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit, Values
from rl_rewriter.rewards.group_effects import others_effects, predicted_with_groups
from rl_rewriter.rewards.outcome_model import (
    OutcomeConfig,
    cross_fitted,
    fit_outcome_model,
    kin_of,
)
from rl_rewriter.rewards.reward import Table

Estimator = Literal["dr", "ips", "dm"]


@dataclass(frozen=True, kw_only=True)
class ImputeConfig:
    """How logged rewards become a reward for every action.

    Attributes:
        estimator: "dr" corrects predicted rewards by importance-weighted residuals, "dm" trusts the
            prediction, "ips" predicts nothing but the mean reward of the log.
        largest_weight: Importance weights are cut here: less variance for some bias. At 1 an action
            is worth what was observed where it was taken, and what is predicted elsewhere; where
            no more than four actions are drawn alike, nothing is cut by default.
        least_records: Decisions in which an action must have been taken to be learned about; where
            old ones are forgotten, what they weigh together.
        model: Settings of the reward model. What differs between actions by state is held small by
            default: squared error, by which the model would choose that penalty, hardly sees what
            decides between actions.
    """

    estimator: Estimator = "dr"
    largest_weight: float = 4.0
    least_records: int = 1
    model: OutcomeConfig = field(default_factory=lambda: OutcomeConfig(own_penalties=(1000.0,)))

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if self.estimator not in ("dr", "ips", "dm"):
            raise InputError(f'estimator must be "dr", "ips" or "dm", got {self.estimator!r}')
        if not self.largest_weight > 0:
            raise InputError(f"largest_weight must be positive, got {self.largest_weight}")
        if self.least_records < 1:
            raise InputError(f"least_records must be at least 1, got {self.least_records}")


def require_states(log: LoggedBandit) -> None:
    """Refuse a log that says nothing of its queries.

    Raises:
        InputError: No states were logged.
    """
    if not log.states.shape[1]:
        raise InputError(
            "the log holds no states, so nothing can be learned from it: log with this package's "
            "rewriter (explore_untrained() starts without a policy), which writes them"
        )


def supported(
    actions: npt.NDArray[np.intp],
    n_actions: int,
    least_records: int,
    weights: Values | None = None,
) -> npt.NDArray[np.bool_]:
    """Which of ``m`` actions were taken often enough to be learned about, ``(m,)``; keep always is.

    Args:
        actions: Those taken in the decisions that are learned from, ``(n,)``.
        n_actions: ``m``.
        least_records: How often is enough.
        weights: Records that each decision counts for, ``(n,)``; one by default.
    """
    taken = np.bincount(actions, weights, minlength=n_actions) >= least_records
    taken[0] = True
    return np.asarray(taken)


def imputed_table(log: LoggedBandit, config: ImputeConfig) -> RewardTable:
    """Rewards of every action on every decision, with raw states.

    ``R(x, a) = q(x, a) + [a was taken] min(1 / p, c) (r - q(x, a))``

    With ``c`` infinite its mean under a policy is the doubly robust estimate of the policy's value
    (Dudik et al., 2011), so that training and choosing on this table is off-policy REINFORCE with
    that estimate as reward; a finite ``c`` is the clipped form (Su et al., 2020). ``q`` is
    cross-fitted: the row's own reward isn't among those that its model was fitted on, and through
    the effects of groups it enters by a share that vanishes as ``1 / n``. Where the propensity
    isn't known, the prediction stands as it is.

    Args:
        log: Decisions with states.
        config: Settings.

    Raises:
        InputError: The log holds no states, or too little to fit a model.
    """
    require_states(log)
    return _as_table(log, _corrected(log, _predicted(log, config), config))


def _corrected(log: LoggedBandit, predicted: Table, config: ImputeConfig) -> Table:
    """Predictions ``(n, m)``, moved toward what was observed where an action was taken."""
    weights = np.nan_to_num(1.0 / log.propensities, nan=0.0)
    if config.estimator == "dm":
        weights = np.zeros(len(log))
    taken = _of_taken(predicted, log)
    moved = np.minimum(weights, config.largest_weight) * (log.rewards - taken)
    predicted[np.arange(len(log)), log.actions] = taken + moved
    return np.where(log.mask, predicted, predicted[:, :1])


def imputed_parts(
    log: LoggedBandit, rows: tuple[Sequence[int], Sequence[int]], config: ImputeConfig
) -> RewardTable:
    """One table of rows to learn from and rows to choose by, in which nothing flows back.

    The rows to learn from are imputed from their own rewards. Those to choose by are predicted by
    the model of the first, and corrected by their own rewards.

    Args:
        log: Decisions with states.
        rows: The two parts, which together name every row.
        config: Settings.

    Raises:
        InputError: As for :func:`imputed_table`.
    """
    learn, choose = (np.asarray(part, dtype=np.intp) for part in rows)
    train, held = log.subset(learn), log.subset(choose)
    values = np.empty((len(log), len(log.action_names)))
    values[learn] = imputed_table(train, config).values
    values[choose] = _corrected(held, _predicted_by(train, held, config), config)
    return _as_table(log, values)


def _predicted_by(train: LoggedBandit, held: LoggedBandit, config: ImputeConfig) -> Table:
    """Rewards of the rows ``held (n, m)``, by a model of the other rows."""
    n_actions = len(train.action_names)
    if config.estimator == "ips":
        mean = np.average(train.rewards, weights=train.weights)
        return np.full((len(held), n_actions), mean)
    groups, kin = train.group_numbers, kin_of(train.action_names)
    effects = np.zeros(len(train))
    if groups is not None:
        crossed = cross_fitted(
            train.states,
            train.actions,
            train.rewards,
            n_actions,
            groups=groups,
            kin=kin,
            config=config.model,
            weights=train.weights,
        )
        left = train.rewards - _of_taken(crossed, train)
        effects = others_effects(left, groups, train.weights)
    model = fit_outcome_model(
        train.states,
        train.actions,
        train.rewards - effects,
        n_actions,
        groups=groups,
        kin=kin,
        config=config.model,
        weights=train.weights,
    )
    predicted = model.predict(held.states)
    if held.group_numbers is not None:
        residuals = held.rewards - _of_taken(predicted, held)
        predicted += others_effects(residuals, held.group_numbers, held.weights)[:, None]
    return np.clip(predicted, train.rewards.min(), train.rewards.max(), out=predicted)


def _of_taken(table: Table, log: LoggedBandit) -> Values:
    return np.asarray(table[np.arange(len(log)), log.actions])


def _as_table(log: LoggedBandit, values: Table) -> RewardTable:
    return RewardTable(
        query_ids=log.decision_ids,
        action_names=log.action_names,
        states=log.states,
        mask=log.mask,
        values=values,
        rewards=values - values[:, :1],
        weights=log.weights,
    )


def _predicted(log: LoggedBandit, config: ImputeConfig) -> Table:
    """Cross-fitted rewards ``(n, m)``."""
    n_actions = len(log.action_names)
    if config.estimator == "ips":
        return np.full((len(log), n_actions), np.average(log.rewards, weights=log.weights))
    predicted = predicted_with_groups(
        log.states,
        log.actions,
        log.rewards,
        n_actions,
        groups=log.group_numbers,
        kin=kin_of(log.action_names),
        config=config.model,
        weights=log.weights,
    )
    return np.clip(predicted, log.rewards.min(), log.rewards.max(), out=predicted)
