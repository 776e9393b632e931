"""The names that datasets give to the same few things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

QUESTION = ("question", "query", "user_input", "query_text", "question_text", "input", "text")
DOCUMENTS = (
    *("documents", "document", "document_ids", "document_id", "doc_ids", "doc_id", "docid"),
    *("expected_documents", "expected_document", "expected_document_ids", "expected_document_id"),
    *("expected_ids", "expected_id", "expected_doc_ids", "expected_doc_id", "expected"),
    *("relevant_documents", "relevant_docs", "relevant_document_ids", "relevant_ids", "relevant"),
    *("answer_ids", "answer_id", "answer_document", "corpus_ids", "corpus_id", "reference_ids"),
    *("node_ids", "node_id", "chunk_ids", "chunk_id", "passage_ids", "passage_id"),
    *("sources", "source"),
)
CONTEXTS = ("reference_contexts", "relevant_contexts", "contexts")
QUERY_ID = ("id", "_id", "query_id", "question_id", "qid")
DOCUMENT_ID = (
    *("_id", "id", "id_", "document_id", "doc_id", "docid", "docno", "corpus_id"),
    *("node_id", "chunk_id", "passage_id", "document"),
)
TEXT = ("text", "page_content", "contents", "content", "body")
GRADE = ("grade", "relevance", "rel", "score")
SPLIT = ("split", "dataset_split", "part", "subset")
HISTORY = ("history", "chat_history", "conversation_history", "messages")
GROUP = ("need", "group", "conversation_id", "thread_id", "session_id", "conversation")
KIND = ("kind", "query_type")


def normalised(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The same fields, named in lower case with underscores."""
    return {field_name(str(name)): value for name, value in row.items()}


def field_name(text: str) -> str:
    """Lower case with underscores: "Document ID" is "document_id"."""
    return text.strip().lower().replace(" ", "_").replace("-", "_")


def pick(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of the named fields that holds something, else None."""
    for name in names:
        value = row.get(name)
        if value is not None and value != "" and value != [] and value != {}:
            return value
    return None
