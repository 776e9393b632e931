"""The small table of names and metric values that several commands print."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

_SAME = 1e-9


def values_table(rows: list[tuple[str, float, str]], keep: float) -> Table:
    """Rows of name, value and note, with what each value gains over keep."""
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, min_width=5)
    table.add_column(justify="right", no_wrap=True, min_width=6)
    table.add_column(style="dim")
    for name, value, note in rows:
        gain = f"{(value - keep) / keep:+.1%}" if keep > 0 and abs(value - keep) > _SAME else ""
        table.add_row(escape(name), f"{value:.3f}", gain, escape(note))
    return table
