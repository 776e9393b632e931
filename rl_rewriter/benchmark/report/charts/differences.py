"""Paired differences to keep, with their intervals."""

from __future__ import annotations

from rl_rewriter.benchmark.arm_names import KEEP
from rl_rewriter.benchmark.report.arms import Arm, Versus
from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    error_bars,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.charts.rows import row_height, row_layout
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import difference, label, signed

_COLOURS = {1: "helped", 0: "keep", -1: "hurt"}


def differences(collection: Collection) -> Chart | LeftOut:
    """How far every arm is above or below keep on the same queries."""
    record = collection.record
    title = f"Difference to keep, paired over {record.n}"
    found = [
        (arm, arm.versus_keep)
        for arm in record.arms
        if arm.versus_keep is not None and arm.name != KEEP
    ]
    if not found:
        return LeftOut(title, "the run has no 'versus_keep' of its arms")
    found.sort(key=lambda pair: -pair[1].delta)
    height = row_height(len(record.arms))  # that of the chart beside it
    deltas = [versus.delta for _, versus in found]
    figure = new_figure(
        height,
        xaxis_title={"text": label(f"difference in {record.metric}"), "font": {"size": 12}},
        **row_layout([arm.label for arm, _ in found]),
    )
    figure.update_xaxes(zeroline=True, zerolinewidth=2, rangemode="tozero")
    figure.add_scatter(
        mode="markers",
        x=rounded(deltas),
        y=list(range(len(found))),
        error_x=error_bars(deltas, [versus.ci95 for _, versus in found]),
        marker={
            "color": [
                colour("oracle" if arm.in_hindsight else _COLOURS[versus.direction])
                for arm, versus in found
            ],
            "symbol": ["diamond-open" if arm.in_hindsight else "circle" for arm, _ in found],
            "size": 10,
        },
        hovertext=[_hover(arm, versus) for arm, versus in found],
        hoverinfo="text",
    )
    note = (
        "Lines are 95% intervals. Where one crosses 0, or the corrected p-value is 0.05 or more, "
        "no difference is shown and the mark is grey. The open mark knows the judgements."
    )
    summary = "; ".join(f"{arm.label} {signed(versus.delta)}" for arm, versus in found)
    return Chart(title, note, summary, figure, height)


def _hover(arm: Arm, versus: Versus) -> str:
    return f"{label(arm.label)}<br>{label(difference(versus), 120)}"
