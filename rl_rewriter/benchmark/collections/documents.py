"""Documents that lie in a folder, in whichever of the usual files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collections.fields import DOCUMENT_ID, TEXT, field_name
from rl_rewriter.benchmark.collections.files import Place, read_json_lines, read_table
from rl_rewriter.benchmark.collections.parts import DocumentRow
from rl_rewriter.benchmark.collections.values import id_of
from rl_rewriter.errors import InputError

FILES = tuple(
    f"{stem}.{ending}"
    for ending in ("jsonl", "jsonl.gz", "csv", "tsv")
    for stem in ("corpus", "documents")
)
"""Names under which documents are looked for; the first that exists is read."""
_TEXT = (*TEXT, "document")


def documents_beside(folder: Path) -> Iterator[DocumentRow] | None:
    """Rows of the folder's documents, read when they are asked for; None where there are none.

    JSON lines have an id, a text and perhaps a title, which goes before the text. Tables have a
    header that names these columns, or none: then they are id, text or id, title, text.
    """
    for name in FILES:
        if (folder / name).exists():
            path = folder / name
            return _of_table(path) if name.endswith("sv") else _of_json_lines(path)
    return None


def _of_json_lines(path: Path) -> Iterator[DocumentRow]:
    for place, row in read_json_lines(path):
        id_ = next((row[name] for name in DOCUMENT_ID if row.get(name) is not None), None)
        if id_ is None:
            raise InputError(f'{place} has no "_id"')
        text = next((row[name] for name in _TEXT if row.get(name) is not None), None)
        yield _row(id_of(id_, place), row.get("title"), text, place)


def _of_table(path: Path) -> Iterator[DocumentRow]:
    columns: Sequence[int] | None = None
    n_cells = 0
    for place, cells in read_table(path):
        if columns is None:
            n_cells = len(cells)
            columns = _named_columns(cells)
            if columns is not None:
                continue
            columns = _columns_by_place(n_cells, place)
        if len(cells) != n_cells:
            raise InputError(f"{place} has {len(cells)} cells where the first row has {n_cells}")
        id_, title, text = (cells[column] if column >= 0 else None for column in columns)
        yield _row(id_of(id_, place), title, text, place)
    if columns is None:
        raise InputError(f"{path} is empty")


def _named_columns(header: Sequence[str]) -> tuple[int, int, int] | None:
    """Columns of id, title (-1 where there is none) and text; None where this is no header."""
    names = [field_name(cell) for cell in header]
    found = [
        next((names.index(name) for name in wanted if name in names), -1)
        for wanted in (DOCUMENT_ID, ("title",), _TEXT)
    ]
    id_, title, text = found
    return (id_, title, text) if id_ >= 0 and text >= 0 else None


def _columns_by_place(n_cells: int, place: Place) -> tuple[int, int, int]:
    if n_cells not in (2, 3):
        raise InputError(
            f"{place} must name the columns (id, title, text), or have an id and a text alone; got "
            f"{n_cells} cells"
        )
    return (0, -1, 1) if n_cells == 2 else (0, 1, 2)


def _row(id_: str, title: Any, text: Any, place: Place) -> DocumentRow:
    for value in (title, text):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{place}: the text of document {id_!r} is no text")
    return DocumentRow(id_, f"{title or ''}\n{text or ''}".strip(), place)
