"""Judged tables: CSV or TSV with a question and the documents that should be found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rl_rewriter.benchmark.collections.documents import documents_beside
from rl_rewriter.benchmark.collections.fields import CONTEXTS, DOCUMENTS, QUESTION, field_name
from rl_rewriter.benchmark.collections.files import Place, dataset_name, read_table, sample
from rl_rewriter.benchmark.collections.parts import Parts
from rl_rewriter.benchmark.collections.rows import Fields, rows_parts
from rl_rewriter.benchmark.collections.values import table_fields
from rl_rewriter.errors import InputError


def table_parts(path: Path) -> Parts:
    """Queries and judgements of a table, with the documents that lie beside it.

    The header names a question (``question``, ``query``, ``text`` ...) and expected documents
    (``document``, ``document_id``, ``expected`` ...): one id a cell, several between ";" or "|", or
    a JSON list. More columns may be ``id``, ``grade``, ``split``, ``history`` (JSON), ``group`` and
    ``kind``.

    Raises:
        InputError: The table cannot be read, or its header lacks a question or documents.
    """
    name = dataset_name(path)
    return rows_parts(name, path, _rows(path), documents_beside(path.parent))


def _rows(path: Path) -> Iterator[tuple[Place, Fields]]:
    header: list[str] | None = None
    for place, cells in read_table(path):
        if header is None:
            header = [field_name(cell) for cell in cells]
            _check(header, cells, place)
        elif len(cells) != len(header):
            raise InputError(
                f"{place} has {len(cells)} cells where the header has {len(header)}; put cells "
                "that hold a separator into quotes"
            )
        else:
            yield place, table_fields(dict(zip(header, cells, strict=True)), place)
    if header is None:
        raise InputError(f"{path} is empty")


def _check(header: list[str], cells: list[str], place: Place) -> None:
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InputError(f"{place}: the column {twice[0]!r} stands twice")
    for what, names in (("question", QUESTION), ("expected document", (*DOCUMENTS, *CONTEXTS))):
        if not set(names) & set(header):
            raise InputError(
                f"{place} names no column of the {what}: looked for {sample(list(names))}, found "
                f"{sample(cells)}"
            )
