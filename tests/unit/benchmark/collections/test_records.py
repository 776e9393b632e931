"""JSON datasets: judged records, LangSmith's and LlamaIndex's, as those tools write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from llama_index.core.schema import TextNode

from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.errors import InputError
from rl_rewriter.types import Turn
from tests.beir import write_rows
from tests.unit.benchmark.collections.conftest import Complaint

# As LlamaIndex's save_json writes its two kinds of dataset.
EMBEDDING_PAIRS = {
    "queries": {"q1": "who pays?", "q2": "when?"},
    "corpus": {"n1": "The shop pays.", "n2": "Within a week."},
    "relevant_docs": {"q1": ["n1"], "q2": ["n2"]},
    "mode": "text",
}
LABELLED_RAG = {
    "examples": [
        {
            "query": "who pays?",
            "query_by": {"model_name": "gpt-4", "type": "ai"},
            "reference_contexts": ["The shop pays.", "Others «pay»."],
            "reference_answer": "The shop.",
            "reference_answer_by": {"model_name": "gpt-4", "type": "ai"},
        },
        {
            "query": "who does?",
            "query_by": None,
            "reference_contexts": ["The shop pays. "],
            "reference_answer": "The shop.",
            "reference_answer_by": {"model_name": "", "type": "human"},
        },
    ]
}


def dataset(folder: Path, content: Any, name: str = "judged.json") -> Path:
    path = folder / name
    if name.endswith("l"):
        write_rows(path, content)
    else:
        path.write_text(json.dumps(content, indent=4), encoding="utf-8")
    return path


def grades(path: Path) -> dict[str, dict[str, float]]:
    """Judgements by the question's words."""
    found = read_collection(path)
    return {query.text: dict(found.qrels[query.id]) for query in found.queries}


# Judged records


@pytest.mark.parametrize("name", ["judged.json", "judged.jsonl", "judged.ndjson"])
@pytest.mark.parametrize(
    "rows",
    [
        [{"query": "a", "documents": ["d1", "d2"]}, {"query": "b", "documents": {"d2": 2}}],
        [{"question": "a", "doc_ids": ["d1", "d2"]}, {"text": "b", "expected": "d2", "grade": 2}],
        [
            {
                "text": "a",
                "documents": [{"id": "d1"}, {"document_id": "d2", "text": "快递两天送达。"}],
            },
            {"text": "b", "relevant_docs": [{"document": "d2", "grade": 2}]},
        ],
    ],
)
def test_judged_records(shelf: Path, name: str, rows: list[dict[str, Any]]) -> None:
    if name.endswith("ndjson"):
        dataset(shelf, rows, "x.jsonl").rename(shelf / name)
    else:
        dataset(shelf, rows, name)
    assert grades(shelf / name) == {"a": {"d1": 1.0, "d2": 1.0}, "b": {"d2": 2.0}}


def test_a_record_with_all_that_it_may_have(shelf: Path) -> None:
    row = {
        "_id": 7,
        "query": "and when?",
        "documents": {"d1": 2, "d2": 0.5},
        "history": [["user", "who pays?"], ["assistant", "The shop."]],
        "conversation_id": "c1",
        "kind": "follow_up",
        "split": "train",
    }
    other = {"query": "b", "documents": "d1", "split": "test"}
    found = read_collection(dataset(shelf, [row, other]))
    assert found.train[0].history == (Turn("user", "who pays?"), Turn("assistant", "The shop."))
    assert found.qrels["7"] == {"d1": 2.0, "d2": 0.5}
    assert (found.groups, found.kinds) == ({"7": "c1"}, {"7": "follow_up"})
    assert found.protocol == "split"


def test_one_record_alone(shelf: Path) -> None:
    assert grades(dataset(shelf, [{"query": "a", "documents": ["d1"]}], "one.jsonl")) == {
        "a": {"d1": 1.0}
    }


def test_an_id_with_a_separator_is_one_id_in_json(tmp_path: Path) -> None:
    write_rows(tmp_path / "corpus.jsonl", [{"_id": "a.pdf;p|3", "text": "a"}])
    path = dataset(tmp_path, [{"query": "a", "document": "a.pdf;p|3"}])
    assert grades(path) == {"a": {"a.pdf;p|3": 1.0}}


# LlamaIndex


def test_embedding_pairs(tmp_path: Path) -> None:
    found = read_collection(dataset(tmp_path, EMBEDDING_PAIRS, "pairs.json"))
    assert found.documents == EMBEDDING_PAIRS["corpus"]
    assert found.qrels == {"q1": {"n1": 1.0}, "q2": {"n2": 1.0}}
    assert (found.name, found.queries[0].text) == ("pairs", "who pays?")


def test_embedding_pairs_over_a_store_of_ones_own(tmp_path: Path) -> None:
    path = dataset(tmp_path, EMBEDDING_PAIRS | {"corpus": {}})
    found = read_collection(path, documents_elsewhere=True)
    assert (found.documents, len(found.queries)) == ({}, 2)


def test_contexts_are_documents_and_equal_ones_are_one(tmp_path: Path) -> None:
    found = read_collection(dataset(tmp_path, LABELLED_RAG))
    assert list(found.documents.values()) == ["The shop pays.", "Others «pay»."]
    pays, others = found.documents
    assert [dict(found.qrels[query.id]) for query in found.queries] == [
        {pays: 1.0, others: 1.0},
        {pays: 1.0},
    ]


def test_a_context_that_lies_beside_the_file_keeps_its_id(tmp_path: Path) -> None:
    rows = [{"_id": "shop", "text": "The shop pays."}, {"_id": "more", "text": "More."}]
    write_rows(tmp_path / "corpus.jsonl", rows)
    found = read_collection(dataset(tmp_path, LABELLED_RAG))
    assert list(found.documents.values()) == ["The shop pays.", "More.", "Others «pay»."]
    assert found.qrels[found.queries[1].id] == {"shop": 1.0}


def test_nodes_in_full(tmp_path: Path) -> None:
    node = TextNode(id_="n1", text="The shop pays.").to_dict()
    found = read_collection(dataset(tmp_path, [{"query": "a", "documents": [node]}]))
    assert found.documents == {"n1": "The shop pays."}


# LangSmith


def example(number: int, **parts: Any) -> dict[str, Any]:
    """An example as LangSmith's own class writes it."""
    return {
        "dataset_id": str(UUID(int=0)),
        "inputs": None,
        "outputs": None,
        "metadata": None,
        "id": str(UUID(int=number)),
        "created_at": "2026-01-01T00:00:00Z",
        "modified_at": None,
        "source_run_id": None,
        "attachments": None,
        **parts,
    }


@pytest.mark.parametrize("name", ["judged.json", "judged.jsonl"])
def test_examples_with_ids(shelf: Path, name: str) -> None:
    rows = [
        example(
            1,
            inputs={"question": "money?"},
            outputs={"document_ids": ["d1", "d2"], "answer": "text"},
            metadata={"dataset_split": ["train"], "kind": "short"},
        ),
        example(
            2,
            inputs={"input": "快递", "chat_history": [["user", "你好"]]},
            outputs={"sources": "d2"},
            metadata={"dataset_split": ["base", "test"]},
        ),
        example(3, inputs={"whatever": "nobody knows"}),
    ]
    found = read_collection(dataset(shelf, rows, name))
    assert [query.text for query in found.queries] == ["money?", "快递"]
    assert found.qrels[str(UUID(int=1))] == {"d1": 1.0, "d2": 1.0}
    assert [query.id for query in found.test] == [str(UUID(int=2))]
    assert found.test[0].history == (Turn("user", "你好"),)
    assert found.kinds == {str(UUID(int=1)): "short"}
    assert found.notes == (f"1 query without judgements left out, such as '{UUID(int=3)}'",)


def test_a_plain_split_counts_too(shelf: Path) -> None:
    rows = [
        {"inputs": {"query": "a"}, "outputs": {"doc_id": "d1"}, "split": "train"},
        {"inputs": {"query": "b"}, "outputs": {"doc_id": "d1"}, "split": ["test"]},
    ]
    assert [query.text for query in read_collection(dataset(shelf, rows)).test] == ["b"]


@pytest.mark.parametrize("write", [dumpd, Document.model_dump])
def test_documents_in_full(tmp_path: Path, write: Any) -> None:
    named = write(Document("Money.", id="d1", metadata={"page": 3}))
    unnamed = write(Document("Two days.", metadata={"source": "a.pdf"}))
    rows = [
        {"inputs": {"question": "a"}, "outputs": {"documents": [named, unnamed]}},
        {"inputs": {"question": "b"}, "outputs": {"expected_documents": named}},
        {"inputs": {"question": "c"}, "outputs": {"documents": [write(Document("Money."))]}},
    ]
    path = dataset(tmp_path, rows)
    found = read_collection(path)
    assert list(found.documents.values()) == ["Money.", "Two days."]
    other = list(found.documents)[1]
    assert grades(path) == {"a": {"d1": 1.0, other: 1.0}, "b": {"d1": 1.0}, "c": {"d1": 1.0}}


@pytest.mark.parametrize(
    "messages",
    [
        messages_to_dict([HumanMessage("who?"), AIMessage("I."), HumanMessage("when?")]),
        [dumpd(m) for m in (HumanMessage("who?"), AIMessage("I."), HumanMessage("when?"))],
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "I."},
            {"role": "user", "content": "when?"},
        ],
    ],
)
def test_the_last_message_is_the_question(shelf: Path, messages: Any) -> None:
    rows = [{"inputs": {"messages": messages}, "outputs": {"documents": ["d1"]}}]
    [query] = read_collection(dataset(shelf, rows)).queries
    assert (query.text, query.history) == ("when?", (Turn("user", "who?"), Turn("assistant", "I.")))


# What cannot be used


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            {"rows": []},
            "judged.json holds no judged questions: looked for question, query, user_input, "
            'query_text, question_text, input, text, for a LangSmith dataset ("inputs", '
            '"outputs") and for LlamaIndex\'s ("examples", or "queries" and "relevant_docs"), '
            "found rows",
        ),
        ([], "judged.json names no expected document: looked for"),
        (["a"], "judged.json item 1 is no JSON object"),
        (7, "judged.json item 1 is no JSON object"),
        (
            [{"query": "a", "documents": ["d1"]}, {"query": ""}],
            "judged.json item 2 has no question",
        ),
        ([{"query": ["a"], "documents": ["d1"]}], "judged.json item 1 has no question"),
        ([{"query": "a", "documents": [1.5]}], "judged.json item 1: an id must be a text or a who"),
        ([{"query": "a", "documents": [True]}], "judged.json item 1: an id must be a text or a wh"),
        (
            [{"query": "a", "documents": [[]]}],
            "judged.json item 1: an id must be a text or a whole",
        ),
        ([{"query": "a", "documents": [{"x": "y"}]}], "judged.json item 1: a document has neither"),
        ([{"query": "a", "documents": {"d1": 10**400}}], "judged.json item 1: a grade must be a "),
        ([{"query": "a", "documents": {"d1": float("nan")}}], "judged.json item 1: a grade must "),
        ([{"query": "a", "documents": "d1", "grade": True}], "judged.json item 1: a grade must be"),
        ([{"query": "a", "documents": "d1", "history": "b"}], "judged.json item 1: the history is"),
        ([{"query": "a", "documents": "d1", "history": [7]}], "judged.json item 1: a turn of the "),
        ([{"query": "a", "answer": "d1"}], "judged.json names no expected document: looked for"),
        ([{"inputs": {"a": "b", "c": "d"}}], "judged.json item 1 has no question: looked for"),
        ([{"query": "a", "contexts": [7]}], "judged.json item 1: a context must be a text, got 7"),
        (
            [{"query": "a", "documents": [{"id": "x", "text": t} for t in "ab"]}],
            "judged.json item 1: document 'x' has another text than in judged.json item 1",
        ),
        (EMBEDDING_PAIRS | {"queries": [1]}, "judged.json is no JSON object"),
        (
            EMBEDDING_PAIRS | {"queries": {"q1": 7, "q2": "a"}},
            "judged.json: query 'q1' has no text",
        ),
        (EMBEDDING_PAIRS | {"corpus": {"n1": "a"}}, "judged.json: judgements name 1 unknown docum"),
        (EMBEDDING_PAIRS | {"relevant_docs": {}}, "judged.json has no judgement above 0"),
    ],
)
def test_datasets_that_cannot_be_used(
    shelf: Path, complaint: Complaint, content: Any, expected: str
) -> None:
    path = dataset(shelf, content)
    assert complaint(path).startswith(expected)


def test_a_broken_line_is_named(shelf: Path, complaint: Complaint) -> None:
    (shelf / "judged.jsonl").write_text('{"query": "a", "documents": ["d1"]}\n{"query": \n')
    assert complaint(shelf / "judged.jsonl").startswith("judged.jsonl line 2 is no JSON: ")


def test_contexts_cannot_be_looked_up_in_a_store_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gives relevant documents by their text"):
        read_collection(dataset(tmp_path, LABELLED_RAG), documents_elsewhere=True)
