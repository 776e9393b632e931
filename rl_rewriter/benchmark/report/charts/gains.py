"""Policy against keep, query by query, from the greatest gain to the greatest loss."""

from __future__ import annotations

import numpy as np

from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.per_query import PerQuery
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import label, percent, signed

_SAME = 1e-9
_HEIGHT = 340


def gains(collection: Collection) -> Chart | LeftOut:
    """One step a query; a filled line rather than bars, of which thousands would be too slow."""
    record, found = collection.record, collection.per_query
    title = f"Policy against keep, query by query, {record.n}"
    if found is None:
        return LeftOut(title, "the run has no per_query.parquet")
    if found.gains is None:
        return LeftOut(title, "per_query.parquet has no columns 'policy' and 'keep'")
    order = np.argsort(-found.gains, kind="stable")
    order = order[~np.isnan(found.gains[order])]
    if not len(order):
        return LeftOut(title, "per_query.parquet has no query with both values")
    ordered = found.gains[order]
    helped, hurt = int((ordered > _SAME).sum()), int((ordered < -_SAME).sum())
    figure = new_figure(
        _HEIGHT,
        xaxis_title={"text": "queries, sorted by gain", "font": {"size": 12}},
        yaxis_title={"text": label(f"gain in {record.metric}"), "font": {"size": 12}},
    )
    figure.update_yaxes(zeroline=True, zerolinewidth=2)
    for rows, tint in (
        (slice(0, helped), "helped"),
        (slice(helped, len(order) - hurt), "keep"),
        (slice(len(order) - hurt, len(order)), "hurt"),
    ):
        if len(order[rows]):
            figure.add_scatter(
                mode="lines",
                x=list(range(1, len(order) + 1))[rows],
                y=rounded(ordered[rows], 4),
                line={"color": colour(tint), "width": 2, "shape": "hvh"},
                fill="tozeroy",
                fillcolor=colour(f"{tint}-soft"),
                hovertext=[_hover(found, row) for row in order[rows]],
                hoverinfo="text",
            )
    n = len(order)
    summary = (
        f"{helped:,} queries helped ({percent(helped / n)}), {hurt:,} hurt ({percent(hurt / n)}), "
        f"{n - helped - hurt:,} the same"
    )
    note = f"{summary}. Area above the line is what the policy gains, area below what it costs."
    legend = (("helped", "helped"), ("the same", "keep"), ("hurt", "hurt"))
    return Chart(title, note, summary, figure, _HEIGHT, legend)


def _hover(found: PerQuery, row: int) -> str:
    gain = signed(float(found.gains[row])) if found.gains is not None else ""
    parts = [
        gain,
        *(label(found.texts[name][row]) for name in ("query", "action") if name in found.texts),
    ]
    return "<br>".join(parts)
