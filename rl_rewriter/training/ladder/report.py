"""What a climb of the ladder found out, for people and for manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rl_rewriter.training.ladder.climb import Rung, Step
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.served import Served
from rl_rewriter.training.ladder.trial import Trial


@dataclass(frozen=True)
class LadderReport:
    """How rungs compare by cross-fitting.

    Attributes:
        rung: The one that stands.
        values: Mean cross-fitted value by rung, for those that were tried.
        standard_errors: Of the mean gain over keep, by rung.
        hurt: Share of queries below keep, by rung.
        steps: How each rung compared with what stood below it.
        n_queries: Queries learned from.
        n_groups: Groups that they belong to.
        tuned: Rungs of blends that tuning on the metric made no worse, so that it was kept.
        pull: What networks are pulled to the weights for all with; 0 without networks.
        strength: Share of what stands in what is served; the rest is keep.
        served_share: Share of queries that something else than keep is served to; a gate keeps the
            rest.
        served_value: Mean cross-fitted value of what is served, kept queries included.
        served_hurt: Share of queries below keep of what is served.
        on_limit: What became of the limit on that share; "" where none was set.
        chooses: Whether what is served chooses an action by query, around what stands or instead.
        seconds: Wall time by stage.
        messages: What a reader should know.
    """

    rung: Rung
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    hurt: Mapping[str, float]
    steps: tuple[Step, ...]
    n_queries: int
    n_groups: int
    tuned: tuple[str, ...]
    pull: float
    strength: float
    served_share: float
    served_value: float
    served_hurt: float
    on_limit: str
    seconds: Mapping[str, float]
    messages: tuple[str, ...]
    chooses: bool = False


def report_of(
    trial: Trial,
    folds: GroupFolds,
    steps: tuple[Step, ...],
    served: Served,
    tuned: tuple[Rung, ...] = (),
    pull: float = 0.0,
) -> LadderReport:
    """All that is told of a climb.

    Args:
        trial: What was tried.
        folds: The division.
        steps: How rungs compared.
        served: What is served of what stands.
        tuned: Rungs whose tuning on the metric was kept.
        pull: What networks of the rung that stands are pulled to the weights for all with.
    """
    keep = trial.values["keep"]
    return LadderReport(
        rung=served.rung,
        values={name: float(values.mean()) for name, values in trial.values.items()},
        standard_errors={
            name: folds.standard_error(values - keep) for name, values in trial.values.items()
        },
        hurt={name: share for name, share in trial.hurt.items()},
        steps=steps,
        n_queries=len(keep),
        n_groups=folds.n_groups,
        tuned=tuned,
        pull=pull,
        strength=served.strength,
        served_share=float(served.is_open.mean()),
        served_value=float(served.values.mean()),
        served_hurt=served.hurt,
        on_limit=served.told,
        seconds=trial.seconds,
        messages=(*trial.messages, *(step.in_words for step in steps)),
    )
