"""From a table with raw states to a policy: the part of a fit that needs no retriever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.reference import HeldTo
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.loop import OnLook, Outcome, train_on_tables
from rl_rewriter.training.splits import split_rows
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, eq=False)
class FittedOnRows:
    """What came of training on part of a table.

    Attributes:
        features: Fitted on the training rows.
        table: The whole table, with states scaled by them.
        outcome: The policy and how it went.
    """

    features: FeatureSet
    table: RewardTable
    outcome: Outcome


def fit_on_rows(
    table: RewardTable,
    features: FeatureSet,
    rows: tuple[Sequence[int], Sequence[int]],
    config: FitConfig,
    *,
    on_progress: OnProgress = lambda stage, done, total: None,
    metrics_dir: Path | None = None,
    on_look: OnLook = lambda update, metrics: None,
    held: HeldTo | None = None,
) -> FittedOnRows:
    """Scale states by the training rows, train on these, and choose on the validation rows.

    Args:
        table: Outcomes with raw states.
        features: What the states are made of, not fitted.
        rows: Those of training and those of validation, as :func:`training_rows` divides them.
        config: Settings.
        on_progress: Told the number of updates done.
        metrics_dir: Where training metrics are written; nowhere by default.
        on_look: Told what is written there.
        held: What the KL term holds to on the table's rows; the reference that ``config`` names by
            default.

    Raises:
        TrainingError: A number stopped being finite.
    """
    train_rows, validation_rows = rows
    learned_from = np.asarray(train_rows, dtype=np.intp)
    weights = None if table.weights is None else table.weights[learned_from]
    fitted = features.fitted_on(table.states[learned_from], weights)
    scaled = replace(table, states=fitted.standardised(table.states))
    outcome = train_on_tables(
        scaled.subset(train_rows),
        scaled.subset(validation_rows),
        config,
        on_progress,
        metrics_dir,
        on_look,
        held and held.subset(train_rows),
    )
    return FittedOnRows(fitted, scaled, outcome)


def training_rows(groups: Sequence[str], config: FitConfig) -> tuple[list[int], list[int]]:
    """Rows to learn from and rows to choose by, each group on one side.

    Raises:
        InputError: There are fewer than two groups.
    """
    return split_rows(groups, config.validation_share, seed=config.reinforce.seed)
