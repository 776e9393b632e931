"""Charts with one row for each name."""

from __future__ import annotations

from typing import Any

from rl_rewriter.benchmark.report.charts.chart import colour
from rl_rewriter.benchmark.report.wording import label

_PIXELS, _MANY_PIXELS = 26, 20
_MANY = 20
_WIDTH = 34
_NARROW = 26


def row_height(n_rows: int, extra: int = 70) -> int:
    """Pixels of a chart with so many rows."""
    return n_rows * (_PIXELS if n_rows <= _MANY else _MANY_PIXELS) + extra


def row_layout(names: list[str]) -> dict[str, Any]:
    """Settings of a layout whose y axis names rows 0, 1, ... from the top.

    Rows are numbers rather than categories: plotly would read names such as "1" or "2024-01-01" as
    numbers and dates, and would lay rows of equal names over each other.
    """
    axis = {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [label(name, _WIDTH) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "tickangle": 0,
        "tickfont": {"color": colour("ink"), "size": 12},
    }
    # "narrow" is what the page's script puts in place of the names on a phone.
    return {"yaxis": axis, "meta": {"narrow": [label(name, _NARROW) for name in names]}}
