"""Whatever goes wrong ends in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beir import shop, write_beir
from tests.integration.cli.conftest import TFIDF, Cli, shell
from tests.support import DOCUMENTS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("headroom nowhere", "there is no file or folder nowhere; DATA is a judged collection"),
        ("headroom simulator:x", "the simulator's seed must be a whole number, got 'x'"),
        ("headroom fixture --metric accuracy@3", "unknown metric 'accuracy@3'"),
        ("headroom fixture --metric ndcg", "unknown metric 'ndcg'"),
        ("headroom fixture --limit-queries 0", "the number of queries must be at least 1, got 0"),
        ("headroom fixture --base faiss", "unknown base retriever 'faiss'"),
        ("headroom fixture --chroma-path x", "name the collection of your Chroma"),
        ("train fixture --out OUT --beta much", 'beta must be a number or "adaptive:TARGET"'),
        ("train fixture --out OUT --beta=-1", "beta of the KL term must be finite and >= 0"),
        ("train fixture --out OUT --reference best", "unknown reference "),
        ("train fixture --out OUT --algorithm magic", "unknown algorithm 'magic'"),
        ("train fixture --out OUT --updates 0", "updates, batch_size and evaluate_every must be"),
        ("evaluate fixture --policy nowhere", "nowhere/manifest.json does not exist"),
        ("rewrite text --policy nowhere", "nowhere/manifest.json does not exist"),
        ("demo --data cooking --out OUT", "there is no file or folder cooking"),
    ],
)
def test_an_error_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli(*arguments.split()).complaint.startswith(expected)
    assert not (tmp_path / "OUT" / "manifest.json").exists()


def test_a_policy_needs_the_evidence_that_it_was_trained_with(
    cli: Cli, data: Path, policy: Path
) -> None:
    complaint = cli("evaluate", data, "--policy", policy, "--base", "bm25").complaint
    assert "the bm25 retriever doesn't offer it" in complaint
    assert complaint.endswith("use the base and store that it was trained with")


def test_rewrite_needs_something_to_search(cli: Cli, policy: Path) -> None:
    complaint = cli("rewrite", "money back", "--policy", policy).complaint
    assert "--chroma-path DIR --collection NAME" in complaint
    assert "--data DATA" in complaint


def test_a_collection_that_is_not_there(cli: Cli, policy: Path, tmp_path: Path) -> None:
    store = ("--chroma-path", tmp_path, "--collection", "nobody")
    complaint = cli("rewrite", "money", "--policy", policy, *store).complaint
    assert complaint.startswith("there is no collection 'nobody' to open at")


def test_a_broken_file_is_named_with_its_line(cli: Cli, data: Path, tmp_path: Path) -> None:
    broken = shop(tmp_path / "broken")
    with (broken / "corpus.jsonl").open("a") as file:
        file.write("{\n")
    complaint = cli("headroom", broken, *TFIDF).complaint
    assert complaint.startswith(f"{broken / 'corpus.jsonl'} line 25 is no JSON: ")


def test_a_damaged_policy_is_named(cli: Cli, data: Path, policy: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in policy.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    (damaged / "policy.safetensors").write_bytes(b"nothing")
    complaint = cli("evaluate", data, "--policy", damaged, *TFIDF).complaint
    assert "policy.safetensors is damaged" in complaint


def test_another_folder_is_not_overwritten_and_nothing_is_trained_for_it(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    complaint = cli("train", data, "--out", tmp_path, *TFIDF, "--updates", "1000000").complaint
    assert complaint == f"{tmp_path} holds something else than a policy; give another folder"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_too_few_folds(cli: Cli, tmp_path: Path) -> None:
    folder = write_beir(
        tmp_path / "one",
        documents=DOCUMENTS,
        queries=[{"_id": id_, "text": text} for id_, text in DOCUMENTS.items()],
        qrels={"qrels.tsv": {id_: {id_: 1.0} for id_ in DOCUMENTS}},
    )
    complaint = cli("headroom", folder, *TFIDF, "--folds", "1").complaint
    assert complaint == "at least two folds are needed to cross-validate, got 1"


def test_an_error_that_nobody_foresaw_is_one_line_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("rl_rewriter.benchmark.headroom.measure_headroom", fail)
    complaint = cli("headroom", "fixture").complaint
    assert complaint == "two lines (ZeroDivisionError; --debug shows where)"


def test_debug_shows_the_traceback() -> None:
    code = "from rl_rewriter.cli import main; main()"
    done = shell(code, "headroom", "nowhere", "--debug")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert "InputError: there is no file or folder nowhere" in done.stderr.splitlines()[-1]
