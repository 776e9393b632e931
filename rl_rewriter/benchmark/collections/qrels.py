"""Files of judgements, one a line: BEIR's three columns, or TREC's four."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rl_rewriter.benchmark.collections.fields import field_name
from rl_rewriter.benchmark.collections.files import Place, read_lines, shown
from rl_rewriter.benchmark.collections.parts import Judgement
from rl_rewriter.benchmark.collections.values import grade_of
from rl_rewriter.errors import InputError

_HEADS = frozenset({"query_id", "qid", "query", "topic", "topic_id"})


def read_qrels(path: Path, *, held_out: bool = False) -> Iterator[Judgement]:
    """Judgements of a file.

    A line is query, document and grade between tabs, or query, iteration, document and grade
    between tabs or blanks. A first line that names the columns is skipped.

    Args:
        path: The file.
        held_out: Whether its queries are kept for testing.

    Raises:
        InputError: The file or a line cannot be read.
    """
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) < 3:
            cells = line.split()
            cells = cells if len(cells) == 4 else []
        if number == 1 and cells and field_name(cells[0]) in _HEADS:
            continue
        if len(cells) not in (3, 4):
            raise InputError(
                f"{path} line {number} must be query-id, corpus-id and score between tabs, or "
                f"TREC's four columns, got {shown(line)}"
            )
        place = Place(path, number)
        query_id, document_id, grade = cells[0].strip(), cells[-2].strip(), cells[-1]
        yield Judgement(query_id, document_id, grade_of(grade, place), place, held_out)
