"""Numbers and data as they stand in the page's text and in chart labels."""

from __future__ import annotations

from rl_rewriter.benchmark.report.arms import Versus
from rl_rewriter.benchmark.report.fields import Interval

NOTHING = "–"
"""What stands where there is no value."""


def value(number: float | None, digits: int = 3) -> str:
    """A metric's value."""
    return NOTHING if number is None else f"{_without_minus_zero(number, digits):.{digits}f}"


def signed(number: float | None, digits: int = 3) -> str:
    """A difference, with its sign."""
    if number is None:
        return NOTHING
    number = _without_minus_zero(number, digits)
    return f"{number:+.{digits}f}".replace("-", "−") if number else f"{number:.{digits}f}"


def percent(share: float | None) -> str:
    """A share of the queries."""
    if share is None:
        return NOTHING
    return f"{share:.1%}" if 0 < share < 0.01 else f"{share:.0%}"


def p_value(p: float | None) -> str:
    """A p-value; what lies below the reach of the usual number of draws is not told apart."""
    if p is None:
        return NOTHING
    return "< 0.0001" if p < 0.00005 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def interval(ends: Interval | None, *, plus: bool = False) -> str:
    """A 95% interval."""
    if ends is None:
        return NOTHING
    low, high = (signed(end) if plus else value(end) for end in ends)
    return f"{low} to {high}"


def difference(versus: Versus) -> str:
    """A paired difference with all that says how sure it is."""
    details = []
    if versus.ci95 is not None:
        details.append(f"95% interval {interval(versus.ci95, plus=True)}")
    if versus.p_value is not None:
        details.append(f"p {_relation(versus.p_value)}")
    if versus.p_holm is not None and versus.p_holm != versus.p_value:
        details.append(f"corrected over the run {_relation(versus.p_holm)}")
    return f"{signed(versus.delta)} ({', '.join(details)})" if details else signed(versus.delta)


def label(text: str, width: int = 60) -> str:
    """Data as a chart label: on one line, cropped, and without meaning to the chart library.

    plotly reads tags and entities in every label, so what came from data is escaped for it as it
    would be for a page.

    Args:
        text: What came from data.
        width: Characters to show.
    """
    text = " ".join(text.split())
    if len(text) > width:
        text = f"{text[: width - 1]}…"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _relation(p: float) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _without_minus_zero(number: float, digits: int) -> float:
    return round(number, digits) + 0.0
