"""Writes the page: reads the run, draws the charts, fills the templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rl_rewriter
from rl_rewriter.benchmark.report import wording
from rl_rewriter.benchmark.report.charts.chart import Chart
from rl_rewriter.benchmark.report.inline import content_security_policy, json_text, script_text
from rl_rewriter.benchmark.report.query_data import has_queries, query_data
from rl_rewriter.benchmark.report.run_folder import Run, read_run
from rl_rewriter.benchmark.report.sections import Section, section
from rl_rewriter.benchmark.report.tables import overview_table
from rl_rewriter.benchmark.report.verdicts import headline
from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.folders import write_text

REPORT = "report.html"
_HERE = Path(__file__).parent
_STYLES = ("layout.css", "tables.css", "parts.css", "print.css")
_SCRIPTS = ("theme.js", "tables.js", "charts.js", "query_rows.js", "query_table.js")


def write_report(run_dir: Path, out: Path | None = None) -> Path:
    """Write the HTML report of a run: one file that needs nothing beside it and no network.

    Args:
        run_dir: The folder that ``benchmark``, ``demo`` or ``evaluate --out`` wrote.
        out: The file to write; ``report.html`` in that folder by default.

    Returns:
        The file.

    Raises:
        InputError: The folder holds no run, or a file of it is malformed.
        MissingExtraError: A package of the extra "report" isn't installed.
    """
    return write_page(read_run(run_dir), out or run_dir / REPORT)


def write_page(run: Run, out: Path) -> Path:
    """Write the report of a run that has been read; returns the file.

    Raises:
        InputError: ``out`` is a folder.
        MissingExtraError: A package of the extra "report" isn't installed.
    """
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the file that the report is written to")
    html = render(run)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, html)
    return out


def render(run: Run) -> str:
    """The page of a run."""
    records = [collection.record for collection in run.collections]
    sections = [section(found, number) for number, found in enumerate(run.collections)]
    scripts = [plotly_js(), script_text("\n".join(_asset(name) for name in _SCRIPTS))]
    html: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            run=run,
            version=rl_rewriter.__version__,
            headline=headline(records),
            overview=overview_table(records) if len(records) > 1 else None,
            sections=sections,
            without_queries=[c.record.name for c in run.collections if not has_queries(c)],
            queries=query_data(run.collections),
            figures=_figures(sections),
            security=content_security_policy(scripts),
            scripts=scripts,
            style="\n".join(_asset(name) for name in _STYLES),
            dark_style=_asset("dark.css"),
        )
    )
    # A lone half of a character pair, which JSON can hold, is nothing that a file can.
    return html.encode("utf-8", "replace").decode("utf-8")


def plotly_js() -> str:
    """The whole chart library, as it stands in the page.

    Raises:
        MissingExtraError: plotly isn't installed.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report") from error
    return script_text(get_plotlyjs())


def _figures(sections: list[Section]) -> dict[str, Any]:
    return {
        id_: chart.figure.to_plotly_json()
        for part in sections
        for id_, chart in part.charts.values()
        if isinstance(chart, Chart)
    }


def _environment() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("jinja2", "report") from error
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(value=wording.value, signed=wording.signed, json_text=json_text)
    environment.tests["chart"] = lambda part: isinstance(part, Chart)
    return environment


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text("utf-8")
