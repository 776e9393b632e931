"""What is said of the queries that a policy helped and hurt most."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.comparison.examples import examples_of
from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import open_workbench
from tests.beir import write_beir
from tests.support import blend_checkpoint, fixed_checkpoint


@pytest.fixture
def misspelt(tmp_path: Path) -> str:
    """Queries that BM25 finds nothing by; the second one is held out."""
    return str(
        write_beir(
            tmp_path / "data",
            documents={"d1": "refunds of orders", "d2": "delivery abroad", "d3": "gift cards"},
            queries=[{"_id": "q1", "text": "refundz"}, {"_id": "q2", "text": "deliverys"}],
            qrels={"qrels/test.tsv": {"q1": {"d1": 1}, "q2": {"d2": 1}}},
        )
    )


def test_bm25_alone_counts_words_spelt_alike(misspelt: str) -> None:
    bench = open_workbench(misspelt, StoreConfig(base="bm25"))
    checkpoint = fixed_checkpoint(bench.retriever, "words_alike")
    found = examples_of(evaluate_checkpoint(bench, checkpoint))
    [example] = found["helped"]
    assert (example["query_id"], example["counts_alike"]) == ("q2", True)


def test_a_learned_blend_is_fused(misspelt: str) -> None:
    bench = open_workbench(misspelt, StoreConfig(embedder="tfidf"))
    found = examples_of(evaluate_checkpoint(bench, blend_checkpoint(bench.retriever)))
    examples = [*found["helped"], *found["hurt"]]
    assert examples
    assert all(example["lexical_weight"] > 0.0 for example in examples)
    assert not any(example["counts_alike"] for example in examples)
