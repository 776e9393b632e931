"""What a chart is, and the look that all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rl_rewriter.errors import MissingExtraError

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure with the words around it.

    Attributes:
        title: What it shows, of how many queries.
        note: How to read it.
        summary: What is to be seen in it, for who doesn't see it.
        figure: The figure; its colours are names of the page's colours (``var(--policy)``).
        height: Pixels.
        legend: What its colours stand for: text and the colour's name.
    """

    title: str
    note: str
    summary: str
    figure: go.Figure
    height: int
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A chart that can't be drawn.

    Attributes:
        title: What it would have shown.
        reason: What the run lacks.
    """

    title: str
    reason: str


def colour(name: str) -> str:
    """One of the page's colours, which differ between light and dark."""
    return f"var(--{name})"


def rounded(numbers: Any, digits: int = 5) -> list[float]:
    """Numbers as short as a chart needs them."""
    return [round(float(number), digits) for number in numbers]


def new_figure(height: int, **layout: Any) -> go.Figure:
    """An empty figure in the look of the page.

    Args:
        height: Pixels.
        layout: Further settings.

    Raises:
        MissingExtraError: plotly isn't installed.
    """
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise MissingExtraError("plotly", "report") from error
    axis = {
        "gridcolor": colour("grid"),
        "zerolinecolor": colour("zero"),
        "linecolor": colour("grid"),
        "automargin": True,
        "fixedrange": True,
        "tickangle": 0,
    }
    common = {
        "template": go.layout.Template(),
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colour("ink"), "size": 13},
        "hoverlabel": {"bgcolor": colour("paper"), "font": {"color": colour("ink")}},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,  # the page has its own, which doesn't shrink the chart on a phone
        "xaxis": axis,
        "yaxis": axis,
    }
    figure = go.Figure(layout=common)
    figure.update_layout(**layout)
    return figure


def error_bars(middle: list[float], ends: list[tuple[float, float] | None]) -> dict[str, Any]:
    """Intervals as plotly's asymmetric error bars; of no length where there is none.

    Args:
        middle: Positions of the marks.
        ends: Interval of each mark.
    """
    pairs = [(m, m) if e is None else e for m, e in zip(middle, ends, strict=True)]
    return {
        "type": "data",
        "symmetric": False,
        "array": rounded(high - m for m, (_, high) in zip(middle, pairs, strict=True)),
        "arrayminus": rounded(m - low for m, (low, _) in zip(middle, pairs, strict=True)),
        "color": colour("interval"),
        "thickness": 1.5,
        "width": 4,
    }
