"""The page's sortable tables, as cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY
from rl_rewriter.benchmark.report import wording
from rl_rewriter.benchmark.report.arms import Arm, Versus
from rl_rewriter.benchmark.report.record import Record


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What it shows.
        key: What its column is sorted by; None comes last. A text is no number's cell.
        tone: "good" or "bad" for a difference that is sure, else empty.
        link: Where it leads to within the page.
    """

    text: str
    key: float | str | None
    tone: str = ""
    link: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes:
        caption: What its rows are.
        headings: One a column.
        rows: As many cells each; the first names the row.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def overview_table(records: Sequence[Record]) -> Table:
    """All collections of the run, one a row; the metric is a column where there are several."""
    metrics = {record.metric for record in records}
    measured = f"mean {records[0].metric}" if len(metrics) == 1 else "means"
    return _without_empty(
        Table(
            f"All collections of this run; {measured} over held-out queries",
            (
                *("Collection", "Retriever", "Metric", "Queries", "Keep", "Best single action"),
                *("Policy", "Per-query best (hindsight)", "Policy − keep", "95% interval", "p"),
                *("p corrected (Holm)", "Helped", "Hurt"),
            ),
            tuple(
                _overview_row(record, number, with_metric=len(metrics) > 1)
                for number, record in enumerate(records)
            ),
        )
    )


def arms_table(record: Record) -> Table:
    """All arms of a collection with all that is known of them."""
    metrics = list(dict.fromkeys(name for arm in record.arms for name in arm.metrics))
    return _without_empty(
        Table(
            f"Every action and arm of {record.name}, {record.n}",
            (
                *("Arm", f"Mean {record.metric}", "95% interval", "Arm − keep"),
                *("95% interval of the difference", "p", "p corrected (Holm)", "Helped", "Hurt"),
                *("Worst tenth", "Searches", "LLM calls", "Embedded", "Cost"),
                *(name for name in metrics if name != record.metric),
            ),
            tuple(
                (
                    *_arm_row(arm),
                    *(_value(arm.metrics.get(m)) for m in metrics if m != record.metric),
                )
                for arm in record.arms
            ),
        )
    )


def kinds_table(record: Record) -> Table:
    """Query kinds of a collection."""
    columns = (KEEP, BEST_FIXED, POLICY, ORACLE)
    return _without_empty(
        Table(
            f"Mean {record.metric} by query kind",
            (
                *("Kind", "Queries", "Keep", "Best single action", "Policy"),
                *("Per-query best (hindsight)", "Policy − keep"),
            ),
            tuple(
                (
                    _text(kind.name or "(no kind)"),
                    _count(kind.n),
                    *(_value(kind.values.get(column)) for column in columns),
                    _gain(kind.values.get(POLICY), kind.values.get(KEEP)),
                )
                for kind in record.kinds
            ),
        )
    )


def _overview_row(record: Record, number: int, *, with_metric: bool) -> tuple[Cell, ...]:
    return (
        Cell(record.name, record.name, link=f"#collection-{number}"),
        _text(record.retriever),
        _text(record.metric if with_metric else wording.NOTHING),
        _count(record.counts.get("n_queries")),
        *(_value(record.values.get(name)) for name in (KEEP, BEST_FIXED, POLICY, ORACLE)),
        *_versus(record.versus_keep),
        _share(record.helped_share),
        _share(record.hurt_share),
    )


def _arm_row(arm: Arm) -> tuple[Cell, ...]:
    return (
        _text(arm.label),
        _value(arm.value),
        Cell(wording.interval(arm.ci95), arm.ci95[0] if arm.ci95 else None),
        *_versus(arm.versus_keep, toned=not arm.in_hindsight),
        _share(arm.rates.get("helped_share")),
        _share(arm.rates.get("hurt_share")),
        _number(arm.rates.get("worst_decile"), wording.signed),
        _number(arm.rates.get("searches_per_query"), _short),
        _number(arm.rates.get("llm_calls_per_query"), _short),
        _number(arm.rates.get("embedded_per_query"), _short),
        _value(arm.rates.get("cost")),
    )


def _versus(versus: Versus | None, *, toned: bool = True) -> tuple[Cell, Cell, Cell, Cell]:
    if versus is None:
        nothing = Cell(wording.NOTHING, None)
        return nothing, nothing, nothing, nothing
    low = versus.ci95[0] if versus.ci95 else None
    return (
        Cell(wording.signed(versus.delta), versus.delta, _tone(versus.direction * toned)),
        Cell(wording.interval(versus.ci95, plus=True), low),
        _number(versus.p_value, wording.p_value),
        _number(versus.p_holm, wording.p_value),
    )


def _gain(policy: float | None, keep: float | None) -> Cell:
    return _number(None if policy is None or keep is None else policy - keep, wording.signed)


def _tone(direction: int) -> str:
    return {1: "good", 0: "", -1: "bad"}[direction]


def _text(text: str) -> Cell:
    return Cell(text, text)


def _count(number: int | None) -> Cell:
    return _number(number, lambda n: f"{n:,.0f}")


def _value(number: float | None) -> Cell:
    return _number(number, wording.value)


def _share(number: float | None) -> Cell:
    return _number(number, wording.percent)


def _short(number: float) -> str:
    return wording.value(number, 2)


def _number(number: float | None, write: Callable[[float], str]) -> Cell:
    return Cell(wording.NOTHING if number is None else write(number), number)


def _without_empty(table: Table) -> Table:
    """The table without columns in which no row has a value."""
    kept = [
        column
        for column in range(len(table.headings))
        if any(row[column].text != wording.NOTHING for row in table.rows)
    ]
    return Table(
        table.caption,
        tuple(table.headings[column] for column in kept),
        tuple(tuple(row[column] for column in kept) for row in table.rows),
    )
