"""A collection's object of ``results.json``, as far as the report shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rl_rewriter.benchmark.report.arms import Arm, Versus
from rl_rewriter.benchmark.report.fields import Interval


@dataclass(frozen=True)
class Kind:
    """The queries of one kind.

    Attributes:
        name: The kind.
        n: How many they are.
        values: Mean metric of "keep", "best_fixed", "policy" and "oracle".
        action_share: Part of them that the policy gives to each action.
    """

    name: str
    n: int
    values: Mapping[str, float]
    action_share: Mapping[str, float]


@dataclass(frozen=True)
class Bin:
    """Queries of about the same predicted gain.

    Attributes:
        predicted: Mean predicted gain of the chosen action.
        true: Mean gain that it had.
        n: Queries.
        ci95: Interval of ``true``.
    """

    predicted: float
    true: float
    n: int
    ci95: Interval | None = None


@dataclass(frozen=True)
class Room:
    """What ``headroom`` said before anyone trained.

    Attributes:
        verdict: Its verdict, as ``headroom --json`` names it.
        oracle_corrected: Per-query best less what chance alone hands to it.
        predictable: Part of the gap that a regression on the state captures.
        differ_share: Queries on which not all actions score the same.
    """

    verdict: str | None
    oracle_corrected: float | None
    predictable: float | None
    differ_share: float | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """One collection's object; what the run doesn't say is None or empty.

    Attributes:
        name: The collection.
        retriever: What it was searched by.
        facts: "embedder", "metric", "protocol".
        counts: "n_documents", "n_queries", "n_train", "folds".
        seeds: Seeds of the policies.
        seed_values: What the policy of each seed reaches.
        seconds: Wall times, and "decide_p50_ms" and "decide_p95_ms".
        verdict: The sentence that the run ends with.
        notes: What a reader should know.
        values: Mean metric of "keep", "best_fixed", "policy", "oracle".
        best_action: The best single action, chosen on training queries.
        hurt_share: Held-out queries on which the policy is below keep.
        helped_share: Those on which it is above.
        action_share: Part of the queries that the policy gives to each action.
        versus_keep: The policy against keep.
        versus_best_fixed: The policy against the best single action.
        room: What there was to gain.
        arms: All arms, best first.
        kinds: Query kinds, largest first.
        calibration: Bins of predicted against true gain.
    """

    name: str
    retriever: str
    facts: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    seed_values: tuple[float, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    verdict: str | None = None
    notes: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    best_action: str | None = None
    hurt_share: float | None = None
    helped_share: float | None = None
    action_share: Mapping[str, float] = field(default_factory=dict)
    versus_keep: Versus | None = None
    versus_best_fixed: Versus | None = None
    room: Room | None = None
    arms: tuple[Arm, ...] = ()
    kinds: tuple[Kind, ...] = ()
    calibration: tuple[Bin, ...] = ()

    @property
    def metric(self) -> str:
        """What is measured."""
        return self.facts.get("metric", "metric")

    @property
    def n(self) -> str:
        """The number of held-out queries in words."""
        count = self.counts.get("n_queries")
        return "held-out queries" if count is None else f"{count:,} held-out queries"
