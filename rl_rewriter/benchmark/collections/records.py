"""JSON datasets: judged records, LangSmith examples, LlamaIndex's two kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.collections.documents import documents_beside
from rl_rewriter.benchmark.collections.fields import HISTORY, QUESTION, normalised
from rl_rewriter.benchmark.collections.files import (
    Place,
    as_object,
    dataset_name,
    read_json,
    read_json_lines,
    read_lines,
    sample,
)
from rl_rewriter.benchmark.collections.langsmith import example_fields
from rl_rewriter.benchmark.collections.parts import DocumentRow, Judgement, Parts, QueryRow
from rl_rewriter.benchmark.collections.rows import Fields, rows_parts
from rl_rewriter.benchmark.collections.values import expected_of
from rl_rewriter.errors import InputError

_ASKING = frozenset({*QUESTION, *HISTORY})


def json_parts(path: Path) -> Parts:
    """What a JSON file holds, told by its first object.

    - ``{"queries": {id: text}, "corpus": {id: text}, "relevant_docs": {id: [ids]}}``: LlamaIndex's
      ``EmbeddingQAFinetuneDataset``;
    - ``{"examples": [{"query", "reference_contexts"}]}``: its ``LabelledRagDataset``;
    - an array or lines of ``{"inputs": {...}, "outputs": {...}}``: a LangSmith dataset;
    - an array or lines of ``{"query": ..., "documents": [ids] or {id: grade}}``, with ``history``
      and the other columns that a table may have.

    Raises:
        InputError: The file is no JSON, or none of these.
    """
    name = dataset_name(path)
    if _is_lines(path):
        rows = read_json_lines(path)
    else:
        data = read_json(path)
        if isinstance(data, dict) and "queries" in data and "relevant_docs" in data:
            return _embedding_pairs(name, path, data)
        is_dataset = isinstance(data, dict) and isinstance(data.get("examples"), list)
        rows = _items(path, data["examples"] if is_dataset else data)
    return rows_parts(name, path, _fields(path, rows), documents_beside(path.parent))


def _is_lines(path: Path) -> bool:
    """Whether the first line is an object of its own, with others below it."""
    lines = read_lines(path)
    _, first = next(lines, (0, ""))
    if not first:
        raise InputError(f"{path} is empty")
    first = first.strip()
    return first[0] == "{" and first[-1] == "}" and next(lines, None) is not None


def _items(path: Path, data: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    for number, item in enumerate(data if isinstance(data, list) else [data], start=1):
        place = Place(path, number, "item")
        yield place, as_object(item, place)


def _fields(
    path: Path, rows: Iterable[tuple[Place, dict[str, Any]]]
) -> Iterator[tuple[Place, Fields]]:
    is_known = False
    for place, row in rows:
        is_example = isinstance(row.get("inputs"), Mapping)
        fields = example_fields(row) if is_example else normalised(row)
        is_known = is_known or is_example or bool(_ASKING & fields.keys())
        if not is_known:
            raise InputError(
                f"{path} holds no judged questions: looked for {sample(QUESTION)}, for a "
                'LangSmith dataset ("inputs", "outputs") and for LlamaIndex\'s ("examples", or '
                f'"queries" and "relevant_docs"), found {sample(list(row))}'
            )
        yield place, fields


def _embedding_pairs(name: str, path: Path, data: Mapping[str, Any]) -> Parts:
    place = Place(path)
    queries, corpus, relevant = (
        as_object(data.get(part) or {}, place) for part in ("queries", "corpus", "relevant_docs")
    )
    return Parts(
        name=name,
        source=path,
        documents=[DocumentRow(*row, place) for row in _texts(corpus)]
        if corpus
        else documents_beside(path.parent),
        queries=[QueryRow(*row, place) for row in _texts(queries)],
        judgements=[
            Judgement(query_id, expected.id, expected.grade, place)
            for query_id, documents in relevant.items()
            for expected in expected_of(documents, None, place)
        ],
    )


def _texts(texts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids and texts; what is no text is as good as none."""
    for id_, text in texts.items():
        yield id_, text if isinstance(text, str) else ""
