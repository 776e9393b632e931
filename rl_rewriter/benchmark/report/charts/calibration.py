"""Whether the policy gains what it expects to gain."""

from __future__ import annotations

from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    error_bars,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.record import Bin
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import interval, label, signed

_HEIGHT = 340


def calibration(collection: Collection) -> Chart | LeftOut:
    """True gain against predicted gain, in bins of the held-out queries."""
    record = collection.record
    bins = record.calibration
    n = sum(part.n for part in bins)
    title = f"Predicted against true gain, {n:,} queries in {len(bins)} bins"
    if not bins:
        return LeftOut("Predicted against true gain", "the run has no 'calibration'")
    true = [part.true for part in bins]
    figure = new_figure(
        _HEIGHT,
        xaxis_title={"text": "predicted gain of the chosen action", "font": {"size": 12}},
        yaxis_title={"text": label(f"true gain in {record.metric}"), "font": {"size": 12}},
    )
    figure.update_xaxes(zeroline=True)
    figure.update_yaxes(zeroline=True)
    ends = [min(part.predicted for part in bins), max(part.predicted for part in bins)]
    figure.add_scatter(
        mode="lines",
        x=rounded(ends),
        y=rounded(ends),
        line={"color": colour("keep"), "dash": "dot"},
        hoverinfo="skip",
    )
    figure.add_scatter(
        mode="markers",
        x=rounded(part.predicted for part in bins),
        y=rounded(true),
        error_y=error_bars(true, [part.ci95 for part in bins]),
        marker={"color": colour("policy"), "size": 9},
        hovertext=[_hover(part) for part in bins],
        hoverinfo="text",
    )
    note = (
        "One mark a bin of held-out queries, with the 95% interval of their true gain. On the "
        "dotted line predictions are right; below it the policy expects more than it gets."
    )
    summary = "; ".join(f"{signed(part.predicted)} became {signed(part.true)}" for part in bins)
    return Chart(title, note, summary, figure, _HEIGHT)


def _hover(part: Bin) -> str:
    ends = f"<br>95% interval {interval(part.ci95, plus=True)}" if part.ci95 else ""
    return f"predicted {signed(part.predicted)}, true {signed(part.true)}{ends}<br>n = {part.n:,}"
