"""``train DATA --logs FILE``: a blend too, where the collection is named that was searched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter.policies.checkpoint import load_checkpoint
from tests.beir import write_beir
from tests.commands import exit_code
from tests.integration.blend_logs import corpus
from tests.integration.cli.conftest import TFIDF, Cli

FEW = ("--updates", "5")
ACTIONS = "keywords,fuse_bm25@0.1,fuse_bm25@0.2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in "data" and logs of its training queries."""
    made = tmp_path_factory.mktemp("logged")
    told = corpus(135, n_words=4, n_others=2)
    asked = [*told.served, *told.unseen[:5]]
    sides = {"train": told.served, "test": told.unseen[:5]}
    write_beir(
        made / "data",
        documents=told.documents,
        queries=[{"_id": query.id, "text": query.text} for query in asked],
        qrels={
            f"qrels/{side}.tsv": {query.id: told.qrels[query.id] for query in queries}
            for side, queries in sides.items()
        },
    )
    for name, words in {"dense": dense(made), "tfidf": TFIDF}.items():
        out = made / f"{name}.jsonl"
        command = ("simulate-logs", made / "data", "--out", out, "-n", 300, "--actions", ACTIONS)
        assert exit_code(*command, *words) == 0
    return made


def dense(folder: Path) -> tuple[object, ...]:
    return ("--embedder", "minilm", "--store-dir", folder / "store")


def test_a_blend_is_learned_from_the_log(cli: Cli, folder: Path, tmp_path: Path) -> None:
    words = ("train", folder / "data", "--logs", folder / "dense.jsonl", *dense(folder), *FEW)
    found = cli(*words, "--out", tmp_path / "policy", "--json").record
    assert found["ladder"]["rung"] == "same_for_all"
    assert found["credit_explained"] <= 1.0
    assert 0.0 < found["validation"]["keep"] <= found["validation"]["policy"] < 1.1
    assert found["warnings"][-1].startswith("the blend was never shown in this log")
    checkpoint = load_checkpoint(tmp_path / "policy")
    assert checkpoint.version == found["policy_version"]
    assert "blend" in checkpoint.actions.names
    assert checkpoint.training["validation"] == found["validation"]
    told = " ".join(cli(*words, "--out", tmp_path / "again").out.split())
    assert "what stands: a blend of the same weights for every query; " in told
    assert "below keep" not in told  # credit tells means, not who is hurt


def test_why_there_is_none_is_told(cli: Cli, folder: Path, tmp_path: Path) -> None:
    log = folder / "tfidf.jsonl"
    words = ("train", folder / "data", "--logs", log, *TFIDF, *FEW, "--out", tmp_path / "policy")
    found = cli(*words, "--json").record
    assert (found["ladder"], found["credit_explained"]) == (None, None)
    assert found["warnings"][-1].startswith("no blend was learned: this retriever can't search any")
    told = " ".join(cli(*words).out.split())
    assert "by held-out records alone: policy over keep" in told
    assert "no blend was learned: this retriever can't search any" in told
    none_asked_for = cli(*words, "--no-blend", "--json").record
    assert not any("blend" in warning for warning in none_asked_for["warnings"])


def test_a_log_alone_teaches_the_choice(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Nothing is searched again where nobody says what was searched."""
    words = ("train", "--logs", folder / "dense.jsonl", *FEW, "--out", tmp_path / "policy")
    found = cli(*words, "--json").record
    assert found["ladder"] is None
    assert not any("blend" in warning for warning in found["warnings"])
    assert json.loads((folder / "dense.jsonl").read_text().splitlines()[0])["asked"] == {
        "history": []
    }
