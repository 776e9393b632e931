"""Writes a collection in BEIR layout, which every tool of the field reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.errors import InputError
from rl_rewriter.folders import replacing
from rl_rewriter.types import Query


def write_beir(collection: JudgedCollection, folder: Path) -> None:
    """Write documents, queries and judgements, with the split where the collection has its own.

    Args:
        collection: What to write.
        folder: Made with its parents; must be empty where it exists.

    Raises:
        InputError: The folder holds something, or an id holds a tab or a line end.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder} exists and isn't empty; give another folder")
    qrels = {"qrels.tsv": collection.queries}
    if collection.protocol == "split":
        qrels = {"qrels/train.tsv": collection.train, "qrels/test.tsv": collection.test}
    with replacing(folder) as made:
        if collection.documents:
            _write_rows(made / "corpus.jsonl", _document_rows(collection.documents))
        _write_rows(made / "queries.jsonl", (_row(collection, q) for q in collection.queries))
        for name, queries in qrels.items():
            (made / name).parent.mkdir(exist_ok=True)
            lines = ["query-id\tcorpus-id\tscore\n", *_judgements(collection, queries)]
            (made / name).write_text("".join(lines), encoding="utf-8")


def _document_rows(documents: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for id_, text in documents.items():
        yield {"_id": id_, "title": "", "text": text}


def _row(collection: JudgedCollection, query: Query) -> dict[str, Any]:
    row: dict[str, Any] = {"_id": query.id, "text": query.text}
    if query.history:
        row["history"] = [{"role": turn.role, "content": turn.text} for turn in query.history]
    if query.id in collection.groups:
        row["group"] = collection.groups[query.id]
    if query.id in collection.kinds:
        row["kind"] = collection.kinds[query.id]
    return row


def _judgements(collection: JudgedCollection, queries: Iterable[Query]) -> Iterator[str]:
    for query in queries:
        for id_, grade in collection.qrels[query.id].items():
            for part in (query.id, id_):
                if "\t" in part or len(part.splitlines()) != 1:
                    raise InputError(f"the id {part!r} cannot be written: it holds a tab or a line")
            yield f"{query.id}\t{id_}\t{grade:.15g}\n"


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    # Lone surrogates have no UTF-8; the replacement is the escape that JSON has for them.
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
