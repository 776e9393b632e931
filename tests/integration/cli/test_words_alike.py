"""How a decision is explained where BM25 counts words spelt alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.policies.checkpoint import save_checkpoint
from tests.integration.cli.conftest import TFIDF, Cli
from tests.support import blend_checkpoint, fixed_checkpoint

BM25 = ("--base", "bm25")


@pytest.mark.parametrize(("action", "weight"), [("words_alike", "1"), ("words_alike@0.5", "0.5")])
def test_bm25_alone_is_fused_with_nothing(
    cli: Cli, data: Path, tmp_path: Path, action: str, weight: str
) -> None:
    bench = open_workbench(str(data), StoreConfig(base="bm25"))
    save_checkpoint(fixed_checkpoint(bench.retriever, action), tmp_path / "policy")
    words = ("rewrite", "refunded money", "--policy", tmp_path / "policy", "--data", data)
    told = cli(*words, *BM25).out
    assert f"\n  BM25 of the query with words spelt alike at {weight}\n" in told
    assert "fused" not in told


def test_a_fused_ranking_is_told_as_one(cli: Cli, data: Path, tmp_path: Path) -> None:
    bench = open_workbench(str(data), StoreConfig(embedder="tfidf"))
    words = ("rewrite", "refunded money", "--policy", tmp_path / "policy", "--data", data, *TFIDF)
    for checkpoint in (
        blend_checkpoint(bench.retriever),
        fixed_checkpoint(bench.retriever, "fuse_bm25@0.4"),
    ):
        save_checkpoint(checkpoint, tmp_path / "policy")
        told = cli(*words).out
        assert "\n  fused with BM25 at 0." in told
        assert "\n  BM25 of the query" not in told
