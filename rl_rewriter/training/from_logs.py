"""Learning from a log: the choice among single actions, then a blend where queries are known."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.shown import ShownLists
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.forgetting import forgetting
from rl_rewriter.training.offline import (
    OfflineConfig,
    features_of_log,
    fit_policy_to_logs,
    rows_of_log,
)
from rl_rewriter.training.offline_report import LogFitReport, no_gain_shown
from rl_rewriter.training.replay.learning import Replayed, learn_blend
from rl_rewriter.training.replay.searchable import searchable
from rl_rewriter.training.replay.searching import Searcher
from rl_rewriter.training.report import climbing_settings
from rl_rewriter.types import OnProgress

_UNSEEN = (
    "the blend was never shown in this log: what it is worth is estimated from what its documents "
    "earned in other lists; serve it with exploration, and gate it by the log of that"
)


def learn_from_logs(
    log: LoggedBandit,
    shown: ShownLists | None,
    retriever: Retriever | None,
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
        shown: What they asked and showed; None where that isn't known, and no blend is learned.
        retriever: What they searched; without it no blend is learned.
        known: Actions by name: those that the log may name.
        statistics: Term weights of the collection that the logged rewriter searched.
        config: Settings.
        reference: A policy to hold to instead of what ``config`` says; no blend is learned then.
        on_progress: Told how far each stage is.
        metrics_dir: Where training metrics are written; nowhere by default.

    Raises:
        InputError: The log holds no states or ones of unknown features, or too little; what was
            shown is of another number of decisions; or the share of hurt queries is to be limited.
        CollectionError: The collection cannot be searched.
        TrainingError: Training diverged.
        MissingExtraError: torch isn't installed.
    """
    config = config or OfflineConfig()
    if shown is not None and len(shown) != len(log):
        raise InputError(
            f"what {len(shown)} decisions showed is given beside a log of {len(log)}: read it with "
            "read_shown(path, log.decision_ids)"
        )
    if config.fit.ladder is not None and config.fit.ladder.hurt_limit is not None:
        raise InputError(
            "hurt_limit is for learning from judgements: credit says what lists earn on average, "
            "not which single query falls below keep"
        )
    checkpoint, report = fit_policy_to_logs(
        log,
        known=known,
        statistics=statistics,
        config=config,
        reference=reference,
        on_progress=on_progress,
        metrics_dir=metrics_dir,
    )
    tries_blend = config.fit.learned_blend is not None
    held_to_something = reference is not None or config.hold_to_log
    if shown is None or retriever is None or not tries_blend or held_to_something:
        return checkpoint, report
    started = time.perf_counter()
    if config.half_life_days is not None:
        log = forgetting(log, config.half_life_days)
    shown, n_refused = searchable(shown, retriever)
    if n_refused:
        refused = (
            f"the collection refuses {n_refused} logged filters: decisions under them taught no "
            "blend"
        )
        report = replace(report, warnings=(*report.warnings, refused))
    searcher = Searcher(
        log,
        shown,
        retriever,
        checkpoint.statistics,
        features_of_log(log),
        config.fit,
        on_progress or (lambda stage, done, total: None),
    )
    found = learn_blend(searcher, checkpoint, rows_of_log(log, config.fit))
    seconds = {**report.seconds, "blend": round(time.perf_counter() - started, 3)}
    if isinstance(found, str):
        report, served = replace(report, warnings=(*report.warnings, found)), checkpoint
    else:
        report, served = _with_blend(report, found, log), found.checkpoint
    report = replace(report, seconds=seconds)
    return replace(served, training=_summary(checkpoint.training, report, config.fit)), report


def _with_blend(report: LogFitReport, found: Replayed, log: LoggedBandit) -> LogFitReport:
    """What is told of a policy with a blend; of its values, those by credit."""
    weights = None if log.weights is None else log.weights[found.decisions]
    gain = found.gain_ci95
    means = {
        name: float(np.average(values, weights=weights))
        for name, values in (
            ("keep", found.keep),
            ("best_fixed", found.best_fixed),
            ("policy", found.policy),
        )
    }
    told = [warning for warning in report.warnings if not warning.startswith(no_gain_shown(None))]
    if gain[0] <= 0:
        told.append(no_gain_shown(gain))
    return replace(
        report,
        policy_version=found.checkpoint.version,
        validation=means,
        gain_ci95=gain,
        kl=found.kl,
        best_fixed=found.single,
        ladder=found.report,
        credit_explained=found.explained,
        warnings=(*told, _UNSEEN),
    )


def _summary(
    training: Mapping[str, Any], report: LogFitReport, config: FitConfig
) -> dict[str, Any]:
    settings = {**training["settings"], **climbing_settings(config)}
    return {**training, "settings": settings, **report.to_json()}
