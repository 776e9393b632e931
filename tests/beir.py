"""Small collections in BEIR layout, written by tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support import DOCUMENTS

Judgements = Mapping[str, Mapping[str, float]]
FORMS = (
    "could you please tell me about {}",
    "{}",
    "what is the thing with {} then",
    "{} or so",
    "i would like to know all of it: {}",
)
"""Ways of asking for what a document says."""


def write_beir(
    folder: Path,
    *,
    documents: Mapping[str, str],
    queries: Iterable[Mapping[str, Any]],
    qrels: Mapping[str, Judgements],
) -> Path:
    """Write a collection.

    Args:
        folder: Made where it isn't there.
        documents: Document id -> text.
        queries: Rows of ``queries.jsonl``.
        qrels: File name, such as "qrels/test.tsv" -> judgements.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"_id": id_, "title": "", "text": text} for id_, text in documents.items()]
    write_rows(folder / "corpus.jsonl", rows)
    write_rows(folder / "queries.jsonl", queries)
    for name, judgements in qrels.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        lines = [
            f"{query}\t{document}\t{grade:g}"
            for query, grades in judgements.items()
            for document, grade in grades.items()
        ]
        path.write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n", encoding="utf-8")
    return folder


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def shop(folder: Path) -> Path:
    """Twelve help-centre articles, five queries each; the needs of every third are held out.

    Each document stands there twice, under ids that sort the other way round: the copies have equal
    scores, and the first one alone is relevant.
    """
    ids = list(DOCUMENTS)
    queries: list[dict[str, Any]] = []
    qrels: dict[str, dict[str, dict[str, float]]] = {"qrels/train.tsv": {}, "qrels/test.tsv": {}}
    for number, id_ in enumerate(ids):
        words = " ".join(DOCUMENTS[id_].split()[:4])
        part = qrels["qrels/test.tsv" if number % 3 == 0 else "qrels/train.tsv"]
        for form, template in enumerate(FORMS):
            name = f"{id_}.{form}"
            queries.append({"_id": name, "text": template.format(words), "need": id_})
            queries[-1]["kind"] = f"form {form}"
            part[name] = {id_: 2.0, ids[number - 1]: 1.0}
    documents = DOCUMENTS | {f"{id_}-again": text for id_, text in DOCUMENTS.items()}
    return write_beir(folder, documents=documents, queries=queries, qrels=qrels)
