"""What retrievers of other frameworks give, in one form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rl_rewriter.errors import InputError

ID_KEYS = ("id", "_id", "doc_id", "document_id")
"""Where metadata may hold a document's id."""


@dataclass(frozen=True)
class Found:
    """One document that was found.

    Attributes:
        ids: All names it may go by, the most likely first.
        score: As told; None where it isn't.
        text: As told.
        metadata: As told.
    """

    ids: tuple[str, ...]
    score: float | None = None
    text: str | None = None
    metadata: Mapping[str, Any] | None = None


SearchTexts = Callable[[list[str], int], list[list[Found]]]
"""Searches texts for so many documents each; may give another number of them."""


def as_search(source: Any) -> tuple[SearchTexts, bool]:
    """How a retriever is searched, and whether it tells texts.

    Raises:
        InputError: The object is no retriever of a known form.
    """
    if isinstance(source, type):
        raise InputError(f"{source.__name__} is a class; pass a retriever made of it")
    if callable(getattr(source, "batch", None)) and callable(getattr(source, "invoke", None)):
        return lambda texts, k: [_documents(found) for found in source.batch(texts)], True
    if callable(getattr(source, "retrieve", None)):
        return lambda texts, k: [_nodes(source.retrieve(text)) for text in texts], True
    if callable(source) and not inspect.iscoroutinefunction(source):
        return lambda texts, k: [_pairs(found) for found in source(list(texts), k)], False
    raise InputError(
        f"cannot search with a {type(source).__name__}; pass a LangChain retriever, a LlamaIndex "
        "retriever, or a function of texts and k that gives (id, score) pairs for each text"
    )


def _documents(found: Iterable[Any]) -> list[Found]:
    """LangChain's documents."""
    return [
        Found(_ids(document.id, document.metadata), None, document.page_content, document.metadata)
        for document in found
    ]


def _nodes(found: Iterable[Any]) -> list[Found]:
    """LlamaIndex's nodes with scores; a chunk also goes by the document it was cut from."""
    return [
        Found(
            _ids(hit.node.node_id, hit.node.metadata, hit.node.ref_doc_id),
            None if hit.score is None else float(hit.score),
            hit.node.get_content(),
            hit.node.metadata,
        )
        for hit in found
    ]


def _pairs(found: Iterable[Any]) -> list[Found]:
    """(id, score) pairs of a function of the user's own.

    Raises:
        TypeError: Something is no such pair.
    """
    pairs: list[Found] = []
    for pair in found:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise TypeError(f"expected (id, score) pairs, got {pair!r:.80}")
        id_, score = pair
        pairs.append(Found(_ids(id_, {}), None if score is None else float(score)))
    return pairs


def _ids(own: Any, metadata: Mapping[str, Any], *others: Any) -> tuple[str, ...]:
    """All names in order, each once, none of them empty."""
    given = (own, *(metadata.get(key) for key in ID_KEYS), *others)
    return tuple(
        dict.fromkeys(
            str(id_)
            for id_ in given
            if isinstance(id_, str | int) and not isinstance(id_, bool) and str(id_).strip()
        )
    )
