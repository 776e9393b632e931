"""``rl-rewriter benchmark`` as a shell runs it: what it prints, and what survives being killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.beir import shop
from tests.forms import COLLECTION, RESULTS, assert_has_form
from tests.integration.cli.conftest import ROOT, Cli

QUICK = ("--updates", "40", "--seeds", "2", "--folds", "3", "--workers", "1")
TFIDF = ("--base", "tfidf")


def fits(out: Path) -> dict[str, int]:
    """Trained policies -> when they were written."""
    return {
        path.relative_to(out).as_posix(): path.stat().st_mtime_ns
        for path in out.glob("*/fits/*.safetensors")
    }


def children(pid: int) -> list[int]:
    """Processes that a process has started; none where the system doesn't tell."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("benchmarked")
    return shop(root / "first"), shop(root / "second")


def test_json_is_what_is_written(cli: Cli, folders: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("benchmark", *folders, "--out", tmp_path / "run", *TFIDF, *QUICK)
    found = cli(*words, "--json")
    assert found.code == 0
    assert_has_form(found.record, RESULTS)
    assert [record["name"] for record in found.record["collections"]] == ["first", "second"]
    for record in found.record["collections"]:
        assert_has_form(record, COLLECTION)
    written = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))
    assert written == found.record
    notes = (
        "12 documents with the words of another, such as 'refund-again' and 'refund'",
        "policy figures are means over 2 seeds; runs/policy.run, action and text are the first "
        "seed's",
    )
    assert found.err.splitlines() == [
        f"note: {name}: {note}" for name in ("first", "second") for note in notes
    ]
    started = time.perf_counter()
    assert cli(*words, "--json").record == found.record
    assert time.perf_counter() - started < 10


def test_the_verdict_comes_first_in_words(
    cli: Cli, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    found = cli("benchmark", folders[0], "--out", out, *TFIDF, "--base", "bm25", *QUICK)
    assert found.code == 0
    collections = json.loads((out / "results.json").read_text("utf-8"))["collections"]
    blocks = found.out.split("\n\n")
    assert len(blocks) == 3
    for block, record, retriever in zip(blocks, collections, ("tfidf", "bm25"), strict=False):
        assert block.startswith(record["verdict"])
        assert f"searched by {retriever}, cross-validated by 3 folds" in block
        assert "policy against keep: " in block
        assert f"{record['policy']['value']:.3f}" in block
    assert f"written to {out}; rl-rewriter report {out}" in " ".join(blocks[2].split())
    assert cli("report", out).code == 0


def test_without_a_policy(cli: Cli, folders: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("benchmark", folders[0], "--out", tmp_path, *TFIDF, "--no-policy")
    [record] = cli(*words, "--json").record["collections"]
    assert record["policy"] is None
    assert record["arms"]["best_fixed"]["value"] == record["best_fixed"]["value"]
    assert cli(*words).out.startswith("no policy was trained: actions alone are compared")


def test_metrics_and_actions_can_be_chosen(
    cli: Cli, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    chosen = ("--metrics", "recall@20,hits@1", "--metric", "mrr@5", "--actions", "keywords*,topic")
    words = ("benchmark", folders[0], "--out", tmp_path, *TFIDF, "--no-policy", *chosen, "--json")
    [record] = cli(*words).record["collections"]
    assert record["metric"] == "mrr@5"
    assert set(record["arms"]["keep"]["metrics"]) == {"mrr@5", "recall@20", "hits@1"}
    assert set(record["actions"]) == {"keep", "keywords", "keywords@0.5", "topic"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("nowhere --out OUT", "there is no "),
        ("fixture --out OUT --base faiss", "unknown base retriever 'faiss'"),
        ("fixture --out OUT --folds 1", "at least two folds are needed to cross-validate, got 1"),
        ("fixture --out OUT --metrics ndcg", "unknown metric 'ndcg'"),
        ("fixture --out OUT --metrics ndcg@99999999999", "metrics may look at 1000 documents"),
        ("fixture --out OUT --metrics ,", "name at least one metric to report"),
        ("fixture --out OUT --seeds -1", "seeds must not be negative, got -1"),
        ("fixture --out OUT --seed -1", "seeds must not be negative, got -1"),
        ("fixture --out OUT --workers 0", "at least one worker is needed, got 0"),
        ("fixture --out OUT --limit-queries 0", "the number of queries must be at least 1, got 0"),
        ("fixture --out OUT --actions nothing", "no action fits 'nothing'"),
        ("fixture --out OUT --updates 0", "updates, batch_size and evaluate_every must be"),
        ("fixture --out FILE", "FILE is no folder; give another one"),
        ("fixture --out OUT --rewrites FILE", "FILE line 1 is no JSON"),
        ("DATA --out OUT --retriever nothing:here", "there is no module 'nothing'"),
    ],
)
def test_an_error_is_one_line(
    cli: Cli,
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_bytes(b"\x00{")
    words = [str(folders[0]) if word == "DATA" else word for word in arguments.split()]
    assert cli("benchmark", *words).complaint.startswith(expected)


def test_policies_are_not_held_to_one_that_may_know_the_held_out_queries(
    cli: Cli, policy: Path, tmp_path: Path
) -> None:
    complaint = cli("benchmark", "fixture", "--out", tmp_path, "--reference", policy).complaint
    assert complaint.startswith("the policies of a comparison cannot be held to a saved one")


def test_a_run_that_is_killed_is_taken_up_where_it_was(
    cli: Cli, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    """Killed in the middle of the second collection; nothing that was done is done again."""
    out, cache = tmp_path / "run", tmp_path / "cache"
    settings = ("--updates", "150", "--seeds", "3", "--folds", "3", "--cache", cache, "--json")
    words = ("benchmark", *folders, "--out", out, *TFIDF, *settings)
    code = "from rl_rewriter.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words), "--workers", "2"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("second.tfidf/fits/*.safetensors")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(map(is_running, workers)):  # they end by themselves, with who started them
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = fits(out)
    assert 9 < len(before) < 18
    [known] = json.loads((out / "results.json").read_text("utf-8"))["collections"]
    assert known["name"] == "first"

    found = cli(*words, "--workers", "1")
    assert found.code == 0
    after = fits(out)
    assert len(after) == 18
    assert {name: after[name] for name in before} == before
    first, second = found.record["collections"]
    assert first["seconds"] == known["seconds"]

    whole = cli("benchmark", folders[1], "--out", tmp_path / "whole", *words[5:], "--workers", "1")
    [undisturbed] = whole.record["collections"]
    for record in (second, undisturbed):
        for test in (*record["tests"].values(), record["arms"]["policy"]["versus_keep"]):
            test["p_holm"] = test["p_value"]
        record["verdict"] = ""
    assert without_times(second) == without_times(undisturbed)
