"""Documents of every framework, by id and score."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rl_rewriter.logs.importers.documents import documents_in, text_name

LANGCHAIN = {"page_content": "x", "metadata": {"source": "f.md"}, "id": "a", "type": "Document"}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (LANGCHAIN, ("a", None)),
        ({"lc": 1, "id": ["langchain", "Document"], "kwargs": LANGCHAIN}, ("a", None)),
        ([LANGCHAIN, 0.5], ("a", 0.5)),
        ({**LANGCHAIN, "id": None, "metadata": {"chunk_id": "c", "doc_id": "d"}}, ("c", None)),
        ({**LANGCHAIN, "metadata": {"relevance_score": 0.25}}, ("a", 0.25)),
        ({"node": {"id_": "a", "text": "x"}, "score": 0.5}, ("a", 0.5)),
        ({"document": {"id": 7, "score": "0.5"}}, ("7", 0.5)),
        ({"document.id": "a", "document.score": 0.5}, ("a", 0.5)),
        ({"id": "a", "score": 0.5}, ("a", 0.5)),
        ({"id": "a", "score": float("nan")}, ("a", None)),
        ({"id": "a", "metadata": '{"score": 0.5}'}, ("a", 0.5)),
    ],
)
def test_the_id_and_score_of_each_shape(item: Any, expected: tuple[str, float | None]) -> None:
    assert documents_in([item]) == ([expected], 0)


@pytest.mark.parametrize(
    "item",
    ["words", {"page_content": "words"}, {"document": {"content": "words"}}, {"text": "words"}],
)
def test_a_document_without_an_id_is_named_by_its_text(item: Any) -> None:
    assert documents_in([item]) == ([(text_name("words"), None)], 1)


@pytest.mark.parametrize("key", ["documents", "source_documents", "nodes", "results"])
def test_lists_may_lie_inside_an_object_or_in_text(key: str) -> None:
    output = {key: [LANGCHAIN], "answer": "x"}
    assert documents_in(output) == documents_in(json.dumps(output)) == ([("a", None)], 0)


@pytest.mark.parametrize("output", [None, "an answer", {}, 7, [1, 2], [{}], {"documents": "x"}])
def test_what_holds_no_documents_is_no_ranking(output: Any) -> None:
    assert documents_in(output) == (None, 0)


def test_a_document_that_nothing_names_keeps_the_places_of_the_others() -> None:
    found = documents_in([{}, {"id": "a"}, None])
    assert found == ([("unnamed:0", None), ("a", None), ("unnamed:2", None)], 2)


def test_no_document_found_is_an_empty_ranking() -> None:
    assert documents_in({"documents": []}) == ([], 0)
