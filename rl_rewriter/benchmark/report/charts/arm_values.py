"""Bars with intervals: what every action and every other arm reaches."""

from __future__ import annotations

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY
from rl_rewriter.benchmark.report.arms import Arm
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
from rl_rewriter.benchmark.report.wording import interval, label, value

_COLOURS = {KEEP: "keep", BEST_FIXED: "fixed", POLICY: "policy", ORACLE: "oracle"}


def arm_values(collection: Collection) -> Chart | LeftOut:
    """Mean metric of every arm, best on top, with the interval of the mean."""
    record = collection.record
    title = f"Mean {record.metric} of every action, {record.n}"
    arms = record.arms
    if not arms:
        return LeftOut(title, "the run has neither 'arms' nor 'actions'")
    values = [arm.value for arm in arms]
    height = row_height(len(arms))
    figure = new_figure(
        height,
        bargap=0.35,
        xaxis_title={"text": label(record.metric), "font": {"size": 12}},
        **row_layout([arm.label for arm in arms]),
    )
    figure.add_bar(
        orientation="h",
        x=rounded(values),
        y=list(range(len(arms))),
        error_x=error_bars(values, [arm.ci95 for arm in arms]),
        marker={
            "color": [colour(_COLOURS.get(arm.name, "other")) for arm in arms],
            "opacity": 0.75,
            "pattern": {
                "shape": ["/" if arm.in_hindsight else "" for arm in arms],
                "bgcolor": colour("paper"),
                "size": 6,
            },
        },
        hovertext=[_hover(arm) for arm in arms],
        hoverinfo="text",
    )
    if keep := next((arm for arm in arms if arm.name == KEEP), None):
        figure.add_vline(x=round(keep.value, 5), line={"color": colour("keep"), "dash": "dot"})
    has_intervals = any(arm.ci95 for arm in arms)
    note = (
        "Bars start at 0; the dotted line is keep. Lines at their ends are 95% intervals of each "
        "mean; differences are judged by the paired chart, not by whether these overlap. "
        if has_intervals
        else "Bars start at 0; the dotted line is keep. The run has no intervals for these means. "
    )
    summary = "; ".join(f"{arm.label} {value(arm.value)}" for arm in arms)
    return Chart(title, note + "The hatched bar knows the judgements.", summary, figure, height)


def _hover(arm: Arm) -> str:
    ends = f"<br>95% interval {interval(arm.ci95)}" if arm.ci95 else ""
    return f"{label(arm.label)}<br>{value(arm.value, 4)}{ends}"
