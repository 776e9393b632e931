"""From outcomes to a policy, with a blend or without, and what can be told of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.reference import HeldTo
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.by_ladder import LadderFit, fit_by_ladder
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.singles import Singles
from rl_rewriter.training.on_rows import FittedOnRows, fit_on_rows
from rl_rewriter.training.report import FitReport, fit_warnings
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, eq=False)
class Material:
    """What is learned from.

    Attributes:
        table: Outcomes of single actions, with raw states.
        features: What the states are made of, not fitted.
        groups: One name a query.
        rows: Those of training and those of validation.
        pools: What a blend is trained on; None where none is learned.
        held: What the KL term holds to instead of what the settings name.
    """

    table: RewardTable
    features: FeatureSet
    groups: tuple[str, ...]
    rows: tuple[list[int], list[int]]
    pools: Pools | None
    held: HeldTo | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of it.

    Attributes:
        fitted: Features, table and policy.
        climbed: How the rungs fared; None where a policy was trained without a ladder.
    """

    fitted: FittedOnRows
    climbed: LadderFit | None = None

    @property
    def blend(self) -> LearnedBlend | None:
        """The blend to be served, if any."""
        return self.climbed.blend if self.climbed is not None else None

    @property
    def is_fitted_to_all(self) -> bool:
        """Whether what is served was fitted to all queries, by cross-fitting."""
        return self.climbed is not None and not self.climbed.is_policy


def learn(
    material: Material, config: FitConfig, tell: OnProgress, metrics_dir: Path | None
) -> Learned:
    """A policy as complex as its queries earn, with a blend where there are pools and one pays.

    A policy that is held to another one, or that is to climb no ladder, is trained by REINFORCE
    alone.

    Args:
        material: What to learn from.
        config: Settings.
        tell: Told how far it is.
        metrics_dir: Where training metrics are written; nowhere by default.

    Raises:
        TrainingError: Training diverged.
    """
    table, features = material.table, material.features
    if config.ladder is None or material.held is not None:
        fitted = fit_on_rows(
            table,
            features,
            material.rows,
            config,
            held=material.held,
            on_progress=tell,
            metrics_dir=metrics_dir,
        )
        return Learned(fitted)
    climbed = fit_by_ladder(
        table,
        features,
        material.pools,
        material.groups,
        config,
        on_progress=tell,
        metrics_dir=metrics_dir,
    )
    return Learned(climbed.fitted, climbed)


def told_of(material: Material, learned: Learned, config: FitConfig) -> FitReport:
    """The report of a fit, without the version, the seconds and the queries seen."""
    outcome, of_singles = learned.fitted.outcome, material.table
    is_fitted_to_all = learned.is_fitted_to_all
    n_train = len(of_singles) if is_fitted_to_all else len(material.rows[0])
    return FitReport(
        policy_version="",
        seconds={},
        episodes=0 if is_fitted_to_all else config.reinforce.episodes,
        n_train=n_train,
        validation=outcome.validation,
        best_fixed=of_singles.action_names[Singles.of(of_singles).best],
        kl=outcome.kl,
        chosen_update=outcome.update,
        seen=(),
        table=learned.fitted.table,
        ladder=learned.climbed.report if learned.climbed is not None else None,
        warnings=(
            *fit_warnings(n_train, outcome.validation),
            *_limits_not_held(config, learned),
            *_priors_not_used(config, material),
        ),
    )


def _priors_not_used(config: FitConfig, material: Material) -> tuple[str, ...]:
    if config.blend is None or config.blend.prior is None or material.pools is not None:
        return ()
    return ("the prior had nothing to start: no blend is learned over this retriever",)


def _limits_not_held(config: FitConfig, learned: Learned) -> tuple[str, ...]:
    limit = config.ladder.hurt_limit if config.ladder is not None else None
    if limit is None or learned.climbed is not None:
        return ()
    return (
        f"the limit of {limit:.0%} of the queries below keep was not applied: it holds back what "
        "climbs the ladder, and a policy that is held to another one doesn't",
    )
