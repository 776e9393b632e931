"""Documents in an output, by id and score, whichever framework wrote them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from rl_rewriter.logs.importers.scalars import mapping_of, name_of, number_of, parsed

Documents = list[tuple[str, float | None]]
"""Ids and scores, best first."""

MAX_DOCUMENTS = 1_000
"""What comes after so many in one ranking is left out."""

_IDS = ("id", "id_", "document.id", "document_id", "doc_id", "node_id", "_id")
_METADATA_IDS = ("chunk_id", "node_id", "id", "_id", "uuid", "document_id", "doc_id")
_WRAPPERS = frozenset({"kwargs", "node", "document"})
_SCORES_IN_ORDER = ("score", "document.score", "relevance_score", "_score")
_SCORES = frozenset(_SCORES_IN_ORDER)
_TEXTS = ("page_content", "pageContent", "content", "document.content", "text")
_LISTS = ("documents", "source_documents", "nodes", "results", "context", "output")


def documents_in(output: Any) -> tuple[Documents | None, int]:
    """Ids and scores of an output's documents, and how many had no id of their own.

    Args:
        output: A list of documents; an object that holds one under a usual name; either as text.

    Returns:
        None where the output is no list of documents. A document without an id is named by a
        digest of its text, "text:<16 hexadecimal digits>"; one without a text as well keeps its
        place, as "unnamed:<rank>".
    """
    items = _items(output)
    if items is None:
        return None, 0
    found: Documents = []
    n_hashed = 0
    n_named = 0
    for rank, item in enumerate(items[:MAX_DOCUMENTS]):
        name, score, is_hashed = _document(item) if type(item) is dict else _unusual(item)
        n_named += bool(name)
        n_hashed += is_hashed
        found.append((name or f"unnamed:{rank}", score))
    return (found, n_hashed) if n_named or not items else (None, 0)


def _items(output: Any) -> list[Any] | None:
    output = parsed(output)
    if isinstance(output, dict):
        for key in _LISTS:
            if key in output and isinstance(value := parsed(output[key]), list):
                return value
    return output if isinstance(output, list) else None


def _unusual(item: Any) -> tuple[str, float | None, bool]:
    """As :func:`_document`, of what is no object: a text, or a pair of document and score."""
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], dict):
        name, score, is_hashed = _document(item[0])
        given = number_of(item[1])
        return name, score if given is None else given, is_hashed
    if not isinstance(item, str):
        return "", None, True
    inner = parsed(item)
    return _document(inner if isinstance(inner, dict) else {"text": item})


def _document(item: dict[str, Any]) -> tuple[str, float | None, bool]:
    """Id, score, and whether the id is a digest; "" for the id where there is nothing to name."""
    score = None
    if not _WRAPPERS.isdisjoint(item):
        item, score = _unwrapped(item)
    metadata = item.get("metadata") or item.get("document.metadata")
    if type(metadata) is not dict:
        metadata = mapping_of(metadata)
    if score is None and not _SCORES.isdisjoint(item):
        score = _first_number(item)
    if score is None and not _SCORES.isdisjoint(metadata):
        score = _first_number(metadata)
    name = _first_name(item, _IDS) or _first_name(metadata, _METADATA_IDS)
    if name:
        return name, score, False
    text = next((t for key in _TEXTS if isinstance(t := item.get(key), str) and t), "")
    return (text_name(text) if text else ""), score, True


def _unwrapped(item: dict[str, Any]) -> tuple[dict[str, Any], float | None]:
    """The document inside its wrapper, and the score where that stands outside."""
    score = None
    for wrapper in ("kwargs", "node", "document"):
        if isinstance(inner := item.get(wrapper), dict):
            score = _first_number(item) if score is None else score
            item = inner
    return item, score


def text_name(text: str) -> str:
    """Name of a document that has no id: a digest of its text, marked as such."""
    return f"text:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _first_name(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in item and (name := name_of(item[key])):
            return name
    return ""


def _first_number(item: Mapping[str, Any]) -> float | None:
    for key in _SCORES_IN_ORDER:
        if key in item and (score := number_of(item[key])) is not None:
            return score
    return None
