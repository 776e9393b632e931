"""Reads a collection in BEIR layout, naming what is wrong with it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collection import JudgedCollection
from rl_rewriter.conversation import as_history
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query


def load_beir(folder: Path, *, name: str | None = None) -> JudgedCollection:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and the judgements of a folder.

    Judgements are ``qrels/train.tsv`` and ``qrels/test.tsv`` (``dev.tsv`` counts as training), or
    one ``qrels.tsv``. A document's text is its title and its text. Queries may have a ``history``
    (a list of turns), a ``need`` or ``group`` that they belong to, and a ``kind``.

    Raises:
        InputError: A file is missing or malformed, an id is unknown or doubled, or nothing is
            judged; the text names file, line or id.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; DATA must be a folder in BEIR layout")
    documents = _documents(folder / "corpus.jsonl")
    rows = _by_id(folder / "queries.jsonl")
    parts = {path.stem: _qrels(path) for path in _qrels_files(folder)}
    test_ids = frozenset(parts["test"]) if "test" in parts and len(parts) > 1 else None
    qrels = _joined(parts, folder)
    _check_ids(qrels, documents, rows, folder)
    queries = tuple(
        _query(id_, row, folder)
        for id_, row in rows.items()
        if any(grade > 0 for grade in qrels.get(id_, {}).values())
    )
    return JudgedCollection(
        name=name or folder.resolve().name,
        documents=documents,
        queries=queries,
        qrels=qrels,
        test_ids=test_ids,
        groups={
            id_: str(group)
            for id_, row in rows.items()
            if (group := row.get("need") or row.get("group"))
        },
        kinds={id_: str(row["kind"]) for id_, row in rows.items() if row.get("kind")},
    )


def _documents(path: Path) -> dict[str, str]:
    documents = {
        id_: f"{row.get('title') or ''}\n{row.get('text') or ''}".strip()
        for id_, row in _by_id(path).items()
    }
    empty = [id_ for id_, text in documents.items() if not text]
    if empty:
        raise InputError(f"{path}: {len(empty)} documents are empty, the first is {empty[0]!r}")
    return documents


def _query(id_: str, row: Mapping[str, Any], folder: Path) -> Query:
    where, text, history = folder / "queries.jsonl", row.get("text"), row.get("history") or []
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: query {id_!r} has no text")
    if not isinstance(history, list):
        raise InputError(f"{where}: the history of query {id_!r} is no list of turns")
    try:
        return Query(text, history=as_history(history), id=id_)
    except InputError as error:
        raise InputError(f"{where}: query {id_!r}: {error}") from error


def _by_id(path: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for number, row in _json_lines(path):
        id_ = row.get("_id")
        if id_ is None:
            raise InputError(f'{path} line {number} has no "_id"')
        if str(id_) in rows:
            raise InputError(f"{path} line {number}: the id {id_!r} stands twice")
        rows[str(id_)] = row
    if not rows:
        raise InputError(f"{path} is empty")
    return rows


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path} line {number} is no JSON: {error.msg}") from error
        if not isinstance(row, dict):
            raise InputError(f"{path} line {number} is no JSON object")
        yield number, row


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that aren't blank, with their numbers."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except FileNotFoundError:
        raise InputError(f"{path} is missing; DATA must be a folder in BEIR layout") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason}") from error


def _qrels_files(folder: Path) -> list[Path]:
    files = [
        path
        for part in ("train", "dev", "test")
        if (path := folder / "qrels" / f"{part}.tsv").exists()
    ]
    if not files and (folder / "qrels.tsv").exists():
        files = [folder / "qrels.tsv"]
    if not files:
        raise InputError(
            f"{folder} has no judgements: neither qrels.tsv nor qrels/train.tsv and qrels/test.tsv"
        )
    return files


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    judgements: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        cells = line.split("\t")
        if number == 1 and cells[:1] in (["query-id"], ["query_id"]):
            continue
        if len(cells) != 3 or not _is_finite(cells[2]):
            raise InputError(
                f"{path} line {number} must be query-id, corpus-id and score between tabs, "
                f"got {line[:80]!r}"
            )
        query_id, document_id, grade = cells
        judgements.setdefault(query_id, {})[document_id] = float(grade)
    return judgements


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _joined(
    parts: Mapping[str, Mapping[str, Mapping[str, float]]], folder: Path
) -> dict[str, Mapping[str, float]]:
    joined: dict[str, Mapping[str, float]] = {}
    for part, judgements in parts.items():
        doubled = joined.keys() & judgements.keys()
        if doubled:
            raise InputError(
                f"{folder}: {len(doubled)} queries of qrels/{part}.tsv are in another part too, "
                f"such as {min(doubled)!r}; a held-out query must not be trained on"
            )
        joined.update(judgements)
    return joined


def _check_ids(
    qrels: Mapping[str, Mapping[str, float]],
    documents: Mapping[str, str],
    rows: Mapping[str, Any],
    folder: Path,
) -> None:
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        raise InputError(f"{folder} has no judgement above 0: nothing can be measured")
    unknown = sorted(qrels.keys() - rows.keys())
    if unknown:
        raise InputError(
            f"{folder}: judgements name {len(unknown)} unknown queries, such as {unknown[0]!r}"
        )
    missing = sorted({d for grades in qrels.values() for d in grades} - documents.keys())
    if missing:
        raise InputError(
            f"{folder}: judgements name {len(missing)} unknown documents, such as {missing[0]!r}"
        )
