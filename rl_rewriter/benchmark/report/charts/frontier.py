"""Quality against cost: which arms are worth what they make the chain do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, POLICY
from rl_rewriter.benchmark.report.arms import Arm
from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    error_bars,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import label, value

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HEIGHT = 380
_COLOURS = {KEEP: "keep", BEST_FIXED: "fixed", POLICY: "policy"}
_AXES = {
    "cost": "cost of a query, in units of the metric",
    "searches_per_query": "searches of a query",
}


def frontier(collection: Collection) -> Chart | LeftOut:
    """Value of every arm that can be used against its cost; a line joins the undominated ones."""
    record = collection.record
    title = f"Quality against cost, {record.n}"
    found = [arm for arm in record.arms if not arm.in_hindsight]
    axis = next(
        (name for name in _AXES if len({a.rates.get(name) for a in found} - {None}) > 1), ""
    )
    arms = [arm for arm in found if axis in arm.rates]
    if not arms:
        return LeftOut(title, "the run has no 'cost' or 'searches_per_query' that differs by arm")
    best = undominated([(arm.rates[axis], arm.value) for arm in arms])
    figure = new_figure(
        _HEIGHT,
        xaxis_title={"text": _AXES[axis], "font": {"size": 12}},
        yaxis_title={"text": label(record.metric), "font": {"size": 12}},
    )
    costs = [arm.rates[axis] for arm in arms]
    width = max(costs) - min(costs)
    # Names stand to the right of their marks.
    figure.update_xaxes(range=rounded((min(costs) - 0.06 * width, max(costs) + 0.4 * width)))
    figure.add_scatter(
        mode="lines",
        x=rounded(costs[i] for i in best),
        y=rounded(arms[i].value for i in best),
        line={"color": colour("policy"), "shape": "hv", "width": 1.5},
        hoverinfo="skip",
    )
    shown = {*best, *(i for i, arm in enumerate(arms) if arm.name in (KEEP, POLICY))}
    _add_arms(figure, [arm for i, arm in enumerate(arms) if i not in shown], axis, strong=False)
    _add_arms(figure, [arms[i] for i in sorted(shown)], axis, strong=True)
    note = (
        "Lines are 95% intervals. No arm is both better and cheaper than those on the step line. "
        "The per-query best is left out: nobody can use it."
    )
    summary = "undominated: " + "; ".join(
        f"{arms[i].label} {value(arms[i].value)} at {value(costs[i])}" for i in best
    )
    return Chart(title, note, summary, figure, _HEIGHT)


def undominated(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which ``(cost, value)`` have none beside them that costs no more and is worth more.

    Returns:
        Their positions, cheapest first.
    """
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    found: list[int] = []
    for i in order:
        if not found or points[i][1] > points[found[-1]][1]:
            found.append(i)
    return found


def _add_arms(figure: go.Figure, arms: list[Arm], axis: str, *, strong: bool) -> None:
    """Marks of some arms; strong ones have names, as far as there is room, and clear intervals."""
    values = [arm.value for arm in arms]
    faint = {} if strong else {"color": colour("rest"), "width": 0}
    named = with_room([(arm.rates[axis], arm.value) for arm in arms]) if strong else set()
    figure.add_scatter(
        mode="markers+text" if strong else "markers",
        x=rounded(arm.rates[axis] for arm in arms),
        y=rounded(values),
        error_y={**error_bars(values, [arm.ci95 for arm in arms]), **faint},
        marker={"color": [colour(_COLOURS.get(arm.name, "other")) for arm in arms], "size": 9},
        text=[
            f" {label(arm.label.partition(' (')[0], 24)}" if i in named else ""
            for i, arm in enumerate(arms)
        ],
        textposition="bottom right",  # below the line, which runs on to the right
        textfont={"size": 12},
        cliponaxis=False,
        hovertext=[_hover(arm, axis) for arm in arms],
        hoverinfo="text",
    )


def with_room(points: Sequence[tuple[float, float]]) -> set[int]:
    """Which ``(cost, value)`` can have a name beside them without names lying on each other.

    The most valuable come first; a name takes up half the width and a tenth of the height.

    Returns:
        Their positions.
    """
    named: list[int] = []
    if points:
        width = 0.5 * (max(x for x, _ in points) - min(x for x, _ in points))
        height = 0.1 * (max(y for _, y in points) - min(y for _, y in points))
        for i in sorted(range(len(points)), key=lambda i: -points[i][1]):
            x, y = points[i]
            if all(abs(x - points[j][0]) > width or abs(y - points[j][1]) > height for j in named):
                named.append(i)
    return set(named)


def _hover(arm: Arm, axis: str) -> str:
    lines = [label(arm.label), value(arm.value, 4), f"{_AXES[axis]}: {value(arm.rates[axis])}"]
    for name in ("searches_per_query", "llm_calls_per_query"):
        if name in arm.rates:
            lines.append(f"{name.replace('_', ' ')}: {arm.rates[name]:.2f}")
    return "<br>".join(lines)
