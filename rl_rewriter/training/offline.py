"""From a decision log to a checkpoint: impute rewards, train, choose by held-out records."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet, features_of
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.logs.marks import marks_of
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.policies.reference import HeldTo
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.forgetting import effective_size, forgetting, require_half_life
from rl_rewriter.training.imputed import (
    ImputeConfig,
    imputed_parts,
    imputed_table,
    require_states,
    supported,
)
from rl_rewriter.training.loop import greedy
from rl_rewriter.training.offline_report import (
    LogFitReport,
    interval_of_gain,
    offline_warnings,
)
from rl_rewriter.training.on_rows import FittedOnRows, fit_on_rows
from rl_rewriter.training.references import held_to_checkpoint, held_to_log
from rl_rewriter.training.report import versions
from rl_rewriter.training.requirements import require_torch
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """Settings of learning from a log.

    Attributes:
        fit: Settings of the trainer, and how records are divided.
        impute: How logged rewards become rewards of every action.
        betas: Weights of the KL term that are tried; the one whose policy is worth most on the
            held-out records is taken. Empty takes that of ``fit``.
        hold_to_log: Hold to the distribution that each decision was drawn from instead of the
            reference that ``fit`` names.
        half_life_days: Age, counted from the newest record, at which a record counts for half of
            it in every mean and fit (:func:`rl_rewriter.training.forgetting.forgetting`); None
            lets all count alike.
    """

    fit: FitConfig = field(default_factory=FitConfig)
    impute: ImputeConfig = field(default_factory=ImputeConfig)
    betas: tuple[float, ...] = ()
    hold_to_log: bool = False
    half_life_days: float | None = None

    def __post_init__(self) -> None:
        """Refuse a half-life that leaves nothing."""
        if self.half_life_days is not None:
            require_half_life(self.half_life_days)


def fit_policy_to_logs(
    log: LoggedBandit,
    *,
    known: ActionSpace,
    statistics: CollectionStatistics,
    config: OfflineConfig | None = None,
    reference: Checkpoint | None = None,
    on_progress: OnProgress | None = None,
    metrics_dir: Path | None = None,
) -> tuple[Checkpoint, LogFitReport]:
    """Train a policy from logged decisions and their rewards alone.

    Args:
        log: Decisions with states.
        known: Actions by name: those that the log may name.
        statistics: Term weights of the collection that the logged rewriter searched.
        config: Settings.
        reference: A policy to hold to instead of what ``config`` says.
        on_progress: Told how far each stage is.
        metrics_dir: Where training metrics are written; nowhere by default.

    Raises:
        InputError: The log holds no states or ones of unknown features, or too little.
        TrainingError: Training diverged.
        MissingExtraError: torch isn't installed.
    """
    require_torch()
    config = config or OfflineConfig()
    tell = on_progress or (lambda stage, done, total: None)
    features = features_of_log(log)
    if config.half_life_days is not None:
        log = forgetting(log, config.half_life_days)
    actions, learnable = _learnable(log, known, config)
    rows = rows_of_log(learnable, config.fit)
    started = time.perf_counter()
    table = _of_actions(imputed_parts(learnable, rows, config.impute), actions.names)
    held = _held(table, learnable, config, reference)
    imputed_after = time.perf_counter() - started
    fitted, beta = _best(table, features, rows, held, config, tell, metrics_dir)
    unsupported = tuple(name for name in log.action_names if name not in actions.names)
    gain = _gain(fitted, learnable.subset(rows[1]), actions, config)
    effective = None if learnable.weights is None else effective_size(learnable.weights)
    report = LogFitReport(
        policy_version=fitted.outcome.policy.version,
        seconds={
            "impute": round(imputed_after, 3),
            "train": round(time.perf_counter() - started - imputed_after, 3),
        },
        episodes=config.fit.reinforce.episodes * max(1, len(config.betas)),
        n_records=len(learnable),
        validation=fitted.outcome.validation,
        gain_ci95=gain,
        beta=beta,
        kl=fitted.outcome.kl,
        best_fixed=actions.names[_best_fixed(table.subset(rows[0]))],
        unsupported=unsupported,
        learned={
            "marks": marks_of(learnable.decision_ids),
            "until": float(learnable.times.max()),
            "held_out_share": config.fit.validation_share,
            "seed": config.fit.reinforce.seed,
        },
        warnings=offline_warnings(
            len(learnable),
            int(np.isnan(learnable.propensities).sum()),
            unsupported,
            statistics,
            gain,
            effective,
        ),
        effective_records=effective,
    )
    checkpoint = Checkpoint(
        fitted.outcome.policy, actions, fitted.features, statistics, _summary(config, report)
    )
    return checkpoint, report


def rows_of_log(log: LoggedBandit, config: FitConfig) -> tuple[list[int], list[int]]:
    """Rows to learn from and rows to choose by, which a judge can tell apart later.

    Raises:
        InputError: There are too few conversations to hold some out.
    """
    out = held_out(log.groups, config.validation_share, seed=config.reinforce.seed)
    if out.all() or not out.any():
        raise InputError(
            f"{len(set(log.groups))} conversations are too few to hold some out; collect more"
        )
    return np.flatnonzero(~out).tolist(), np.flatnonzero(out).tolist()


def features_of_log(log: LoggedBandit) -> FeatureSet:
    """What the log's states are made of, not fitted.

    Raises:
        InputError: The log holds no states, no propensities, or states of unknown features.
    """
    require_states(log)
    if np.isnan(log.propensities).all():
        raise InputError(
            "no decision of the log has a propensity, so nothing can be learned from it: log with "
            "exploration, whose probabilities are written down"
        )
    features = features_of(log.columns_fingerprint)
    if features is None or len(features.columns) != log.states.shape[1]:
        raise InputError(
            f"the log's states are of features that this version doesn't have (state_schema "
            f"{log.columns_fingerprint!r}): log with this version's rewriter"
        )
    return features


def _learnable(
    log: LoggedBandit, known: ActionSpace, config: OfflineConfig
) -> tuple[ActionSpace, LoggedBandit]:
    """Actions that are known and were taken often enough where we learn, and who took them."""
    out = held_out(log.groups, config.fit.validation_share, seed=config.fit.reinforce.seed)
    learned_from = log.actions[~out]
    weights = None if log.weights is None else log.weights[~out]
    often = supported(learned_from, len(log.action_names), config.impute.least_records, weights)
    names = [name for name, is_often in zip(log.action_names, often, strict=True) if is_often]
    actions = known.named(names)
    positions = [log.action_names.index(name) for name in actions.names]
    kept = np.isin(log.actions, positions)
    if not kept.any():
        raise InputError(
            f"none of the {len(log)} decisions took an action that can be learned about: "
            f"{', '.join(log.action_names[:5])}"
        )
    return actions, log if kept.all() else log.subset(kept)


def _of_actions(table: RewardTable, names: tuple[str, ...]) -> RewardTable:
    columns = [table.action_names.index(name) for name in names]
    return replace(
        table,
        action_names=names,
        mask=_with_keep(table.mask[:, columns]),
        values=table.values[:, columns],
        rewards=table.rewards[:, columns],
    )


def _with_keep(mask: Mask) -> Mask:
    mask[:, 0] = True
    return mask


def _best_fixed(table: RewardTable) -> int:
    return int(table.mean(table.values).argmax())


def _held(
    table: RewardTable, log: LoggedBandit, config: OfflineConfig, reference: Checkpoint | None
) -> HeldTo | None:
    if reference is not None:
        return held_to_checkpoint(reference, table)
    return held_to_log(log, table) if config.hold_to_log else None


def _best(
    table: RewardTable,
    features: FeatureSet,
    rows: tuple[list[int], list[int]],
    held: HeldTo | None,
    config: OfflineConfig,
    tell: OnProgress,
    metrics_dir: Path | None,
) -> tuple[FittedOnRows, float]:
    """The policy of the weight of the KL term that is worth most on the held-out records."""
    found: list[tuple[FittedOnRows, float]] = []
    for beta in config.betas or (config.fit.reinforce.kl.beta,):
        kl = replace(config.fit.reinforce.kl, beta=beta)
        fit = replace(config.fit, reinforce=replace(config.fit.reinforce, kl=kl))
        folder = metrics_dir and (metrics_dir / f"beta-{beta:g}" if config.betas else metrics_dir)
        fitted = fit_on_rows(
            table, features, rows, fit, held=held, on_progress=tell, metrics_dir=folder
        )
        found.append((fitted, beta))
    return max(found, key=lambda one: one[0].outcome.validation["policy"])


def _gain(
    fitted: FittedOnRows, held_out: LoggedBandit, actions: ActionSpace, config: OfflineConfig
) -> tuple[float, float]:
    """Interval of the policy's gain over keep by what the held-out records alone say.

    Doubly robust with weights as they are: nothing of the training records is in it, and no bias.
    """
    unbiased = replace(config.impute, estimator="dr", largest_weight=math.inf)
    alone = _of_actions(imputed_table(held_out, unbiased), actions.names)
    seen = replace(alone, states=fitted.features.standardised(alone.states))
    gains = greedy(fitted.outcome.policy, seen, seen.rewards)
    return interval_of_gain(gains, held_out.groups, held_out.weights)


def _summary(config: OfflineConfig, report: LogFitReport) -> dict[str, Any]:
    return {
        "algorithm": "reinforce-offline",
        "settings": {
            "reinforce": asdict(config.fit.reinforce),
            "reward": config.fit.reward.to_json(),
            "reference": config.fit.reference,
            "impute": asdict(config.impute),
            "half_life_days": config.half_life_days,
        },
        "versions": versions(),
        **report.to_json(),
    }
