"""The part of the page about one collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY
from rl_rewriter.benchmark.report.charts.action_shares import action_shares
from rl_rewriter.benchmark.report.charts.arm_values import arm_values
from rl_rewriter.benchmark.report.charts.calibration import calibration
from rl_rewriter.benchmark.report.charts.chart import Chart, LeftOut
from rl_rewriter.benchmark.report.charts.differences import differences
from rl_rewriter.benchmark.report.charts.frontier import frontier
from rl_rewriter.benchmark.report.charts.gains import gains
from rl_rewriter.benchmark.report.charts.training import kl_curve, reward_against_kl, reward_curve
from rl_rewriter.benchmark.report.examples import Examples
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.tables import Table, arms_table, kinds_table
from rl_rewriter.benchmark.report.verdicts import room_sentences, summary, verdict
from rl_rewriter.benchmark.report.wording import value

CHARTS: Mapping[str, Callable[[Collection], Chart | LeftOut]] = {
    "values": arm_values,
    "differences": differences,
    "gains": gains,
    "shares": action_shares,
    "reward": reward_curve,
    "kl": kl_curve,
    "reward-kl": reward_against_kl,
    "calibration": calibration,
    "frontier": frontier,
}
_TILES = {
    KEEP: "keep: every query as it is",
    BEST_FIXED: "best single action",
    POLICY: "policy: one action a query",
    ORACLE: "per-query best, in hindsight",
}


@dataclass(frozen=True)
class Tile:
    """A number that is shown large.

    Attributes:
        name: "keep", "best_fixed", "policy" or "oracle".
        text: The number.
        label: What it is.
        note: What else belongs to it.
    """

    name: str
    text: str
    label: str
    note: str


@dataclass(frozen=True, eq=False)
class Section:
    """What the page shows of one collection.

    Attributes:
        id: Its anchor in the page; nothing of it comes from data.
        record: Its object of the run.
        verdict: Its verdict.
        summary: The sentences below it.
        facts: What it was measured on.
        tiles: The four numbers that everything is about.
        room: What headroom said.
        charts: Charts by their id in the page.
        arms: Table of all arms; None where there are none.
        kinds: Table of the query kinds; None where there are none.
        examples: Queries most helped and most hurt.
    """

    id: str
    record: Record
    verdict: str
    summary: list[str]
    facts: list[tuple[str, str]]
    tiles: list[Tile]
    room: list[str]
    charts: Mapping[str, tuple[str, Chart | LeftOut]]
    arms: Table | None
    kinds: Table | None
    examples: Examples | None


def section(collection: Collection, number: int) -> Section:
    """Put together what the page shows of a collection.

    Args:
        collection: What the run left about it.
        number: Its place in the run, from 0.
    """
    record = collection.record
    return Section(
        id=f"collection-{number}",
        record=record,
        verdict=verdict(record),
        summary=summary(record),
        facts=list(_facts(record)),
        tiles=list(_tiles(record)),
        room=room_sentences(record.room) if record.room else [],
        charts={
            name: (f"chart-{number}-{name}", draw(collection)) for name, draw in CHARTS.items()
        },
        arms=arms_table(record) if record.arms else None,
        kinds=kinds_table(record) if any(kind.name for kind in record.kinds) else None,
        examples=collection.examples,
    )


def _tiles(record: Record) -> Iterator[Tile]:
    for name, label in _TILES.items():
        if name in record.values:
            note = record.best_action or "" if name == BEST_FIXED else ""
            yield Tile(name, value(record.values[name]), label, note)


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    counts, seconds = record.counts, record.seconds
    yield "retriever", record.retriever
    if "embedder" in record.facts:
        yield "embedder", record.facts["embedder"]
    if "n_documents" in counts:
        yield "documents", f"{counts['n_documents']:,}"
    if "n_queries" in counts:
        yield "held-out queries", f"{counts['n_queries']:,}"
    if "n_train" in counts:
        yield "training queries", f"{counts['n_train']:,}"
    if "protocol" in record.facts:
        yield "protocol", record.facts["protocol"]
    if counts.get("folds", 0) > 1:
        yield "folds", str(counts["folds"])
    if len(record.seed_values) > 1:
        low, high = value(min(record.seed_values)), value(max(record.seed_values))
        yield f"policies of {len(record.seed_values)} seeds", f"{low} to {high}"
    if seconds.get("train"):
        yield "training took", f"{seconds['train']:,.1f} s"
    if seconds.get("decide_p50_ms"):
        slow = seconds.get("decide_p95_ms")
        tail = f" (95th percentile {slow:.1f} ms)" if slow else ""
        yield "one decision takes", f"{seconds['decide_p50_ms']:.1f} ms{tail}"
