"""Reads a judged collection, whatever format it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rl_rewriter.benchmark.collections.assemble import assemble
from rl_rewriter.benchmark.collections.beir import QUERIES, beir_parts
from rl_rewriter.benchmark.collections.documents import FILES
from rl_rewriter.benchmark.collections.files import sample
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.parts import Parts
from rl_rewriter.benchmark.collections.records import json_parts
from rl_rewriter.benchmark.collections.tables import table_parts
from rl_rewriter.benchmark.collections.trec import topic_files, trec_parts
from rl_rewriter.errors import InputError

_TABLES = ("csv", "tsv", "csv.gz", "tsv.gz")
_JSON = ("json", "jsonl", "ndjson", "json.gz", "jsonl.gz")


def read_collection(
    path: Path, *, name: str | None = None, documents_elsewhere: bool = False
) -> JudgedCollection:
    """Read documents, queries and judgements.

    Args:
        path: A folder in BEIR or TREC layout, a judged CSV or TSV table, a JSON or JSON-lines
            dataset (judged records, LangSmith's, LlamaIndex's), or a folder that holds one of these
            files. Documents lie beside the judgements, as ``corpus.jsonl``, ``corpus.csv`` or
            ``documents.tsv``, unless the dataset brings them.
        name: For tables; the file's or folder's own by default.
        documents_elsewhere: Whether the documents are in a store of the user's own; those that lie
            there are not read then, and the collection has none.

    Raises:
        InputError: There is no such file, its format isn't known, or it is malformed; the text
            names file, line or id.
    """
    parts = _parts(path)
    return assemble(
        replace(parts, name=name) if name else parts, documents_elsewhere=documents_elsewhere
    )


def _parts(path: Path) -> Parts:
    """What the path holds, by the format that names, header and first object tell."""
    if path.is_dir():
        return _of_folder(path)
    if not path.is_file():
        raise InputError(
            f"there is no file or folder {path}; DATA is a judged collection (BEIR, TREC, CSV or "
            'JSON), "demo", "demo-zh", "fixture" or "simulator"'
        )
    if path.name.lower().endswith(_TABLES):
        return table_parts(path)
    if path.name.lower().endswith(_JSON):
        return json_parts(path)
    raise InputError(
        f"{path} has no known ending: looked for {sample([f'.{e}' for e in (*_TABLES, *_JSON)])}"
    )


def _of_folder(folder: Path) -> Parts:
    for queries in QUERIES:
        if (folder / queries).exists():
            return beir_parts(folder, folder / queries)
    topics = topic_files(folder)
    if topics:
        return trec_parts(folder, topics)
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    judged = [
        entry
        for entry in entries
        if entry.is_file()
        and entry.name.lower().endswith((*_TABLES, *_JSON))
        and entry.name not in FILES
        and "qrels" not in entry.name
    ]
    if len(judged) == 1:
        return replace(_parts(judged[0]), name=folder.resolve().name)
    raise InputError(
        f"{folder} holds {'several files' if judged else 'no file'} of judged queries: looked for "
        f"queries.jsonl (BEIR), topics.* (TREC) or one CSV, TSV or JSON file, found "
        f"{sample([entry.name for entry in entries])}"
    )
