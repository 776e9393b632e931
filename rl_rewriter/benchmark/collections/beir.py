"""Folders in BEIR layout: ``corpus.jsonl``, ``queries.jsonl`` and judgements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rl_rewriter.benchmark.collections.documents import documents_beside
from rl_rewriter.benchmark.collections.fields import GROUP, KIND, QUERY_ID, pick
from rl_rewriter.benchmark.collections.files import read_json_lines, sample
from rl_rewriter.benchmark.collections.parts import Parts, QueryRow
from rl_rewriter.benchmark.collections.qrels import read_qrels
from rl_rewriter.benchmark.collections.values import history_of, id_of, is_held_out
from rl_rewriter.errors import InputError

QUERIES = ("queries.jsonl", "queries.jsonl.gz")
_PARTS = ("train", "dev", "val", "valid", "validation", "test")


def beir_parts(folder: Path, queries: Path) -> Parts:
    """What a folder in BEIR layout holds.

    Judgements are ``qrels/train.tsv`` and ``qrels/test.tsv`` (``dev.tsv`` counts as training), one
    other file in ``qrels/``, or ``qrels.tsv``. Queries may have a ``history`` (a list of turns), a
    ``need`` or ``group`` that they belong to, and a ``kind``.

    Args:
        folder: The folder.
        queries: Its file of queries.

    Raises:
        InputError: There are no judgements.
    """
    files, unread = _qrels_files(folder)
    return Parts(
        name=folder.resolve().name,
        source=folder,
        documents=documents_beside(folder),
        queries=_queries(queries),
        judgements=chain.from_iterable(
            read_qrels(path, held_out=is_held_out(path.stem)) for path in files
        ),
        notes=(f"not read beside the parts of the split: {sample(unread)}",) if unread else (),
    )


def _queries(path: Path) -> Iterator[QueryRow]:
    for place, row in read_json_lines(path):
        id_, text = pick(row, ("_id", *QUERY_ID)), row.get("text")
        if id_ is None:
            raise InputError(f'{place} has no "_id"')
        yield QueryRow(
            id=id_of(id_, place),
            text=text if isinstance(text, str) else "",
            place=place,
            history=history_of(row.get("history"), place),
            group=str(pick(row, GROUP) or ""),
            kind=str(pick(row, KIND) or ""),
        )


def _qrels_files(folder: Path) -> tuple[list[Path], list[str]]:
    """Files of judgements, and names of those that are left alone."""
    found = sorted((folder / "qrels").glob("*.tsv"))
    parts = [path for path in found if path.stem in _PARTS]
    if parts:
        return parts, [path.name for path in found if path.stem not in _PARTS]
    if len(found) > 1:
        raise InputError(
            f"{folder / 'qrels'} holds {sample([path.name for path in found])}; which of them are "
            "for training and for testing is told by the names train.tsv, dev.tsv and test.tsv"
        )
    whole = folder / "qrels.tsv"
    if not found and not whole.exists():
        raise InputError(
            f"{folder} has no judgements: neither qrels.tsv nor qrels/train.tsv and qrels/test.tsv"
        )
    return found or [whole], []
