"""What a run says about each of its arms, and about differences between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY, RANDOM
from rl_rewriter.benchmark.report.fields import Fields, Interval

PLAIN_NAMES = {
    KEEP: "keep (the query as it is)",
    RANDOM: "random action",
    BEST_FIXED: "best single action",
    POLICY: "policy",
    ORACLE: "per-query best (hindsight)",
}
"""What the report calls the arms that are no action."""


@dataclass(frozen=True)
class Versus:
    """A paired difference to another arm.

    Attributes:
        delta: Mean difference over the held-out queries.
        ci95: Its interval.
        p_value: Of the paired test.
        p_holm: The same, corrected over the comparisons made together.
    """

    delta: float
    ci95: Interval | None = None
    p_value: float | None = None
    p_holm: float | None = None

    @property
    def p(self) -> float | None:
        """The corrected p-value where there is one."""
        return self.p_value if self.p_holm is None else self.p_holm

    @property
    def direction(self) -> int:
        """1 for a reliable gain, -1 for a reliable loss, 0 where no difference is shown."""
        if self.ci95 is None or (self.p is not None and self.p >= 0.05):
            return 0
        return int(self.ci95[0] > 0) - int(self.ci95[1] < 0)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to treat the queries.

    Attributes:
        name: Its key in the run.
        label: What readers see.
        value: Mean metric over the held-out queries.
        ci95: Interval of that mean.
        metrics: Means of further metrics.
        rates: Shares and efforts a query: "hurt_share", "helped_share", "worst_decile",
            "searches_per_query", "llm_calls_per_query", "embedded_per_query", "cost"; those that
            the run has.
        versus_keep: Its difference to keep.
    """

    name: str
    label: str
    value: float
    ci95: Interval | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    versus_keep: Versus | None = None

    @property
    def in_hindsight(self) -> bool:
        """Whether the arm knows the judgements, as nothing in use does."""
        return self.name == ORACLE


RATES = (
    "hurt_share",
    "helped_share",
    "worst_decile",
    "searches_per_query",
    "llm_calls_per_query",
    "embedded_per_query",
    "cost",
)


def read_versus(fields: Fields | None) -> Versus | None:
    """A difference, where the object has one."""
    delta = fields.number("delta") if fields else None
    if fields is None or delta is None:
        return None
    return Versus(delta, fields.interval("ci95"), fields.number("p_value"), fields.number("p_holm"))


def read_arms(collection: Fields) -> tuple[Arm, ...]:
    """The arms that have a value, best first.

    A collection without "arms" still has means of its actions, of the policy and so on: these give
    arms without intervals.
    """
    arms = [arm for name, fields in collection.named("arms") if (arm := _arm(name, fields))]
    return tuple(sorted(arms or _bare_arms(collection), key=lambda arm: -arm.value))


def _arm(name: str, fields: Fields) -> Arm | None:
    value = fields.number("value")
    if value is None:
        return None
    rates = {rate: number for rate in RATES if (number := fields.number(rate)) is not None}
    return Arm(
        name=name,
        label=PLAIN_NAMES.get(name) or fields.text("label") or name,
        value=value,
        ci95=fields.interval("ci95"),
        metrics=fields.numbers("metrics"),
        rates=rates,
        versus_keep=read_versus(fields.child("versus_keep")),
    )


def _bare_arms(collection: Fields) -> list[Arm]:
    means: dict[str, float | None] = dict(collection.numbers("actions"))
    for name in (BEST_FIXED, POLICY):
        fields = collection.child(name)
        means[name] = fields.number("value") if fields else None
    means[ORACLE] = collection.number(ORACLE)
    return [
        Arm(name=name, label=PLAIN_NAMES.get(name, name), value=value)
        for name, value in means.items()
        if value is not None
    ]
