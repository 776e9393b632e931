"""What the policy does with each kind of query."""

from __future__ import annotations

from collections.abc import Mapping

from rl_rewriter.benchmark.arm_names import KEEP
from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.charts.rows import row_height, row_layout
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import label, percent

_NAMED = 8
_KINDS = 20
_REST = "other actions"


def action_shares(collection: Collection) -> Chart | LeftOut:
    """One bar a kind, divided by action; all queries together on top."""
    record = collection.record
    title = f"Actions taken by query kind, {record.n}"
    if not record.action_share:
        return LeftOut(title, "the run has no 'action_share' of the policy")
    rows = _rows(record)
    actions = _largest(record.action_share)
    height = row_height(len(rows))
    figure = new_figure(
        height,
        barmode="stack",
        bargap=0.3,
        xaxis={
            "range": [0, 1],
            "tickformat": ".0%",
            "fixedrange": True,
            "gridcolor": colour("grid"),
        },
        **row_layout([name for name, _ in rows]),
    )
    tints = [_tint(action, number) for number, action in enumerate(actions)]
    for action, tint in zip(actions, tints, strict=True):
        shares = [_share(share, action, actions) for _, share in rows]
        figure.add_bar(
            orientation="h",
            x=rounded(shares),
            y=list(range(len(rows))),
            marker={"color": colour(tint), "line": {"color": colour("paper"), "width": 1}},
            hovertext=[
                f"{label(name)}<br>{label(action)}: {percent(share)}"
                for (name, _), share in zip(rows, shares, strict=True)
            ],
            hoverinfo="text",
        )
    left_out = len(record.kinds) - _KINDS
    note = "Each bar is all queries of a kind; its parts are the actions that the policy chose."
    if left_out > 0:
        note += f" The {_KINDS} largest kinds; {left_out} smaller ones are in the top bar only."
    summary = ", ".join(f"{name} {percent(share)}" for name, share in _sorted(record.action_share))
    return Chart(title, note, summary, figure, height, tuple(zip(actions, tints, strict=True)))


def _tint(action: str, number: int) -> str:
    return {KEEP: "keep", _REST: "rest"}.get(action, f"series-{number}")


def _rows(record: Record) -> list[tuple[str, Mapping[str, float]]]:
    n = record.counts.get("n_queries")
    everything = "all queries" if n is None else f"all queries (n = {n:,})"
    kinds = [kind for kind in record.kinds[:_KINDS] if kind.name and kind.action_share]
    return [
        (everything, record.action_share),
        *((f"{kind.name[:24]} (n = {kind.n:,})", kind.action_share) for kind in kinds),
    ]


def _largest(shares: Mapping[str, float]) -> list[str]:
    """Keep, then the actions taken most; one name stands for the rest."""
    taken = [name for name, share in _sorted(shares) if share > 0 and name != KEEP]
    named = [KEEP, *taken[:_NAMED]]
    return [*named, _REST] if len(taken) > _NAMED else named


def _share(shares: Mapping[str, float], action: str, actions: list[str]) -> float:
    if action == _REST:
        return sum(share for name, share in shares.items() if name not in actions)
    return shares.get(action, 0.0)


def _sorted(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(shares.items(), key=lambda entry: -entry[1])
