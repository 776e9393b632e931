"""A Chroma collection of the user's own, with a small file of judgements and nothing beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chromadb
import pytest

from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.embedders import load_embedder
from rl_rewriter.types import Rewrite
from tests.beir import write_rows
from tests.support import DOCUMENTS

QUESTIONS = {
    "when is my money refunded?": "refund",
    "customs form for parcels": "abroad",
    "reset my password": "password",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreConfig:
    """The help centre in a persistent Chroma."""
    folder = tmp_path_factory.mktemp("chroma")
    collection = chromadb.PersistentClient(str(folder)).create_collection(
        "help", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    texts = list(DOCUMENTS.values())
    vectors = load_embedder("minilm").embed_documents(texts)
    collection.add(ids=list(DOCUMENTS), documents=texts, embeddings=vectors)
    return StoreConfig(chroma_path=folder, collection="help", embedder="minilm")


def table(folder: Path) -> Path:
    rows = "".join(f"{text},{id_}\n" for text, id_ in QUESTIONS.items())
    (folder / "asked.csv").write_text(f"question,document\n{rows}")
    return folder / "asked.csv"


def records(folder: Path) -> Path:
    rows = [{"query": text, "documents": {id_: 1}} for text, id_ in QUESTIONS.items()]
    write_rows(folder / "asked.jsonl", rows)
    return folder / "asked.jsonl"


def beir_without_documents(folder: Path) -> Path:
    write_rows(folder / "queries.jsonl", [{"_id": id_, "text": t} for t, id_ in QUESTIONS.items()])
    (folder / "qrels.tsv").write_text("".join(f"{id_}\t{id_}\t1\n" for id_ in QUESTIONS.values()))
    return folder


@pytest.mark.parametrize("write", [table, records, beir_without_documents])
def test_judgements_alone_are_enough(
    store: StoreConfig, tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    bench = open_workbench(str(write(tmp_path)), store)
    assert (bench.n_documents, bench.embedder) == (len(DOCUMENTS), "minilm")
    queries = (*bench.train, *bench.test)
    assert {q.text: list(bench.qrels[q.id]) for q in queries} == {
        text: [id_] for text, id_ in QUESTIONS.items()
    }
    rankings = bench.retriever.search([Rewrite((query.text,)) for query in queries], k=1)
    found = {q.text: ranking.ids[0] for q, ranking in zip(queries, rankings, strict=True)}
    assert found == QUESTIONS


def test_judgements_of_documents_that_chroma_lacks(store: StoreConfig, tmp_path: Path) -> None:
    (tmp_path / "asked.csv").write_text("question,document\nmoney,refund\nelse,nobody\n")
    with pytest.raises(InputError, match="name 1 documents that the collection doesn't hold, such"):
        open_workbench(str(tmp_path / "asked.csv"), store)


def test_the_same_file_without_the_store_says_both_ways_out(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"as corpus\.jsonl .* --chroma-path DIR --collection NAME"
    ):
        open_workbench(str(table(tmp_path)), StoreConfig(embedder="tfidf"))
