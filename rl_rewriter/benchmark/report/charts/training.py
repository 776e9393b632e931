"""How training went: reward and KL by update, and reward against KL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rl_rewriter.benchmark.report.charts.chart import (
    Chart,
    LeftOut,
    colour,
    new_figure,
    rounded,
)
from rl_rewriter.benchmark.report.looks import Curve, Look
from rl_rewriter.benchmark.report.run_folder import Collection
from rl_rewriter.benchmark.report.wording import label, signed, value

if TYPE_CHECKING:
    import plotly.graph_objects as go

Reading = Callable[[Look], float | None]
_HEIGHT = 320
_ABSENT = "the run has no training.jsonl with "


def reward_curve(collection: Collection) -> Chart | LeftOut:
    """Reward on the validation queries after each update that was looked at."""
    return _curve(
        collection.curves,
        lambda look: look.reward,
        "Reward on validation queries during training",
        "mean reward",
        "Reward is the gain over keep less the price of what was done; 0 is keep.",
    )


def kl_curve(collection: Collection) -> Chart | LeftOut:
    """How far the policy went from its reference."""
    return _curve(
        collection.curves,
        lambda look: look.kl,
        "KL to the reference policy during training",
        "KL in nats",
        "How far the policy moved away from the one that it started from.",
    )


def reward_against_kl(collection: Collection) -> Chart | LeftOut:
    """What moving away from the reference bought."""
    looks = [
        (look.kl, look.reward, look.update, curve.name)
        for curve in collection.curves
        for look in curve.looks
        if look.kl is not None and look.reward is not None
    ]
    title = f"Validation reward against KL, {_count(len(looks), 'look')}"
    if not looks:
        return LeftOut(title, f"{_ABSENT}'reward' and 'kl'")
    figure = new_figure(
        _HEIGHT,
        xaxis_title={"text": "KL in nats", "font": {"size": 12}},
        yaxis_title={"text": "mean reward", "font": {"size": 12}},
    )
    figure.update_yaxes(zeroline=True, zerolinewidth=2)
    figure.add_scatter(
        mode="markers",
        x=rounded(kl for kl, *_ in looks),
        y=rounded(reward for _, reward, *_ in looks),
        marker={"color": colour("policy"), "opacity": 0.55, "size": 6},
        hovertext=[
            f"{label(name)}, update {update:g}<br>KL {value(kl)}, reward {signed(reward)}"
            for kl, reward, update, name in looks
        ],
        hoverinfo="text",
    )
    note = "One mark a look at the validation queries. Up and to the left is more for less change."
    best = max(looks, key=lambda look: look[1])
    summary = f"best reward {signed(best[1])} at a KL of {value(best[0])}"
    return Chart(title, note, summary, figure, _HEIGHT)


def _curve(
    curves: tuple[Curve, ...], read: Reading, title: str, axis: str, note: str
) -> Chart | LeftOut:
    runs = [
        (curve.name, points)
        for curve in curves
        if (points := [(look.update, y) for look in curve.looks if (y := read(look)) is not None])
    ]
    title = f"{title}, {_count(len(runs), 'run')}"
    if not runs:
        return LeftOut(title, f"{_ABSENT}{axis!r}")
    figure = new_figure(
        _HEIGHT,
        xaxis_title={"text": "update", "font": {"size": 12}},
        yaxis_title={"text": axis, "font": {"size": 12}},
    )
    figure.update_yaxes(zeroline=True, zerolinewidth=2, rangemode="tozero")
    mean = _mean(runs)
    if len(runs) > 1:
        _add_runs(figure, runs)
        note += " Thin lines are single runs; the thick line is their mean."
    figure.add_scatter(
        mode="lines" if len(mean) > 1 else "markers",
        x=rounded(x for x, _ in mean),
        y=rounded(y for _, y in mean),
        line={"color": colour("policy"), "width": 3},
        hovertemplate="update %{x}: %{y:.3f}<extra></extra>",
    )
    summary = f"from {value(mean[0][1])} to {value(mean[-1][1])} over {_count(len(mean), 'look')}"
    return Chart(title, note, summary, figure, _HEIGHT)


def _add_runs(figure: go.Figure, runs: list[tuple[str, list[tuple[float, float]]]]) -> None:
    """All runs as one trace, with gaps between them."""
    x: list[Any] = []
    y: list[Any] = []
    names: list[str] = []
    for name, points in runs:
        x += [*rounded(update for update, _ in points), None]
        y += [*rounded(number for _, number in points), None]
        names += [label(name)] * (len(points) + 1)
    figure.add_scatter(
        mode="lines",
        x=x,
        y=y,
        connectgaps=False,
        line={"color": colour("thin"), "width": 1},
        hovertext=names,
        hovertemplate="%{hovertext}, update %{x}: %{y:.3f}<extra></extra>",
    )


def _mean(runs: list[tuple[str, list[tuple[float, float]]]]) -> list[tuple[float, float]]:
    """Mean over the runs at each update that all of them looked at; else at every update."""
    seen: dict[float, list[float]] = defaultdict(list)
    for _, points in runs:
        for update, number in points:
            seen[update].append(number)
    common = {update: seen[update] for update in seen if len(seen[update]) == len(runs)} or seen
    return [(update, sum(numbers) / len(numbers)) for update, numbers in sorted(common.items())]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
