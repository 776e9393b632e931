"""What a fit of a blend found out, for people and for manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rl_rewriter.training.blend.ladder import Rung, Step


@dataclass(frozen=True)
class BlendReport:
    """How rungs compare by cross-fitting.

    Attributes:
        rung: The one that stands.
        values: Mean cross-fitted value by rung, for those that were tried.
        standard_errors: Of the mean gain over keep, by rung.
        hurt: Share of queries below keep, by rung.
        steps: How each rung compared with what stood below it.
        n_queries: Queries learned from.
        n_groups: Groups that they belong to.
        tuned: Rungs that tuning on the metric made no worse, so that it was kept.
        pull: What networks are pulled to the weights for all with; 0 without networks.
        strength: Share of the blend in what is served; the rest is keep.
        served_share: Share of queries that something else than keep is served to; a gate keeps the
            rest.
        served_value: Mean cross-fitted value of what is served, kept queries included.
        served_hurt: Share of queries below keep of what is served.
        on_limit: What became of the limit on that share; "" where none was set.
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
