"""Help, JSON and text of the commands, with their exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rl_rewriter
from tests.forms import COLLECTION, DECISION, HEADROOM, TRAIN, assert_has_form
from tests.integration.cli.conftest import COMMANDS, QUICK, TFIDF, Cli, Ended
from tests.support import DOCUMENTS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_shows_an_example(cli: Cli, command: tuple[str, ...]) -> None:
    found = cli(*command, "--help")
    assert found.code == 0
    assert found.err == ""
    assert f"Example: rl-rewriter {' '.join(command)} " in " ".join(found.out.split())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_prints_json_and_shows_tracebacks_when_asked(
    cli: Cli, command: tuple[str, ...]
) -> None:
    options = cli(*command, "--help").out
    assert "--json" in options
    assert "--debug" in options


def test_the_help_lists_all_commands(cli: Cli) -> None:
    found = cli("--help")
    assert found.code == 0
    assert {command[0] for command in COMMANDS} <= set(found.out.split())
    assert {"demo", "headroom", "train", "evaluate", "rewrite"} <= {c[0] for c in COMMANDS}


def test_the_version(cli: Cli) -> None:
    assert cli("--version") == Ended(0, f"{rl_rewriter.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("headroom",),
        ("headroom", "fixture", "--nonsense"),
        ("headroom", "fixture", "--seed", "one"),
        ("headroom", "fixture", "too", "many"),
        ("train", "fixture"),
        ("evaluate", "fixture"),
        ("rewrite", "--policy", "somewhere"),
        ("teach", "fixture"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    found = cli(*arguments)
    assert found.code == 2
    assert found.out == ""
    assert "Usage: rl-rewriter" in found.err
    assert "Traceback" not in found.err


# One JSON object


def test_headroom_where_there_is_nothing_to_learn_ends_with_3(cli: Cli) -> None:
    found = cli("headroom", "fixture", "--json")
    assert found.code == 3
    assert found.err == ""
    assert_has_form(found.record, HEADROOM)
    assert found.record["schema"] == 1
    assert (found.record["name"], found.record["metric"]) == ("fixture", "hits@3")
    assert found.record["verdict"] == "nothing_to_learn"


def test_headroom_of_the_simulator(cli: Cli) -> None:
    found = cli("headroom", "simulator", "--json")
    assert (found.code, found.err) == (0, "")
    assert_has_form(found.record, HEADROOM)
    assert found.record["verdict"] == "worth_learning"
    assert found.record["keep"] < found.record["best_fixed"]["value"] < found.record["oracle"]


def test_train_evaluate_and_rewrite_on_the_simulator(cli: Cli, tmp_path: Path) -> None:
    world = ("simulator:3", "--limit-queries", "150", "--json")
    folder = tmp_path / "deep" / "policy"

    trained = cli("train", *world, "--out", folder, "--updates", "150", "--seed", "1")
    assert (trained.code, trained.err) == (0, "")
    assert_has_form(trained.record, TRAIN)
    assert (trained.record["schema"], trained.record["out"]) == (1, str(folder))
    assert trained.record["algorithm"] == "cross-fitting"
    assert trained.record["ladder"]["rung"] in ("keep", "single")  # no view to blend here
    assert any(
        message.startswith("a choice by query around it taken")
        for message in trained.record["ladder"]["messages"]
    )

    evaluated = cli("evaluate", *world, "--policy", folder, "--out", tmp_path / "run")
    assert (evaluated.code, evaluated.err) == (0, "")
    assert_has_form(evaluated.record, COLLECTION)
    assert evaluated.record["n_queries"] == 150
    assert evaluated.record["policy"]["value"] > evaluated.record["actions"]["keep"]
    [written] = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))["collections"]
    assert written == evaluated.record
    run = tmp_path / "run" / "simulator-3.tfidf"
    assert (run / "runs" / "policy.run").exists()
    assert (run / "per_query.parquet").exists()

    words = ("rewrite", "tell me something", "--policy", folder, "--data", "simulator:3", "--json")
    decided = cli(*words)
    assert (decided.code, decided.err) == (0, "")
    assert_has_form(decided.record, DECISION)
    assert decided.record["policy_version"] == trained.record["policy_version"]
    assert decided.record["reason"] == "policy"
    assert decided.record["documents"]


def test_few_training_queries_are_warned_of(cli: Cli, data: Path, tmp_path: Path) -> None:
    words = ("train", data, *TFIDF, *QUICK, "--limit-queries", "20")
    printed = cli(*words, "--out", tmp_path / "a", "--json")
    assert printed.record["warnings"][0].startswith("only 20 training queries")
    told = cli(*words, "--out", tmp_path / "b")
    assert "warning: only 20 training queries" in told.out


def test_equal_seeds_train_equal_policies(cli: Cli, tmp_path: Path) -> None:
    """A linear choice of many numbers is taken there, in each world its own."""
    versions = [
        cli(
            *("train", world, "--limit-queries", "100", "--json"),
            *("--out", tmp_path / "policy", "--seed", "1"),
        ).record["policy_version"]
        for world in ("simulator:3", "simulator:3", "simulator:4")
    ]
    assert versions[0] == versions[1] != versions[2]


def test_rewrite_takes_history_and_explores(cli: Cli, data: Path, policy: Path) -> None:
    words = ("rewrite", "money back", "--policy", policy, "--data", data, *TFIDF, "--json")
    plain = cli(*words).record
    assert (plain["history_len"], plain["explored"], plain["propensity"]) == (0, False, 1.0)
    explored = cli(*words, "--explore", "--history", "hello", "--history", "what is it?").record
    assert (explored["history_len"], explored["explored"]) == (2, True)
    assert 0.0 < explored["propensity"] < 1.0
    assert explored["propensity"] == explored["probabilities"][explored["action"]]
    again = cli(*words, "--explore", "--history", "hello", "--history", "what is it?").record
    assert again["action"] == explored["action"]


@pytest.mark.parametrize("query", ["", "退款", "\udcff lone", "a\x00b", "[bold]no markup[/]"])
def test_any_query_can_be_printed(cli: Cli, data: Path, policy: Path, query: str) -> None:
    words = ("rewrite", query, "--policy", policy, "--data", data, *TFIDF)
    found = cli(*words, "--json")
    assert (found.code, found.err) == (0, "")
    assert found.record["query"] == query
    assert found.out.isascii()  # whatever encoding the terminal has
    assert cli(*words).code == 0


# Text for people


def test_headroom_in_words(cli: Cli) -> None:
    found = cli("headroom", "fixture")
    assert (found.code, found.err) == (3, "")
    assert found.out.startswith("nothing to learn here: nothing is reliably better than keep\n")
    assert "fixture: 4 queries, 6 documents, hits@3" in found.out


def test_train_evaluate_and_rewrite_in_words(
    cli: Cli, data: Path, policy: Path, tmp_path: Path
) -> None:
    trained = cli("train", data, "--out", tmp_path / "policy", *TFIDF, *QUICK)
    assert trained.code == 0
    assert "warning" not in trained.err
    assert f"saved to {tmp_path / 'policy'}" in trained.out
    evaluated = cli("evaluate", data, "--policy", policy, *TFIDF)
    assert evaluated.code == 0
    assert evaluated.err.startswith("note: shop: 12 documents with the words of another")
    assert "shop: 20 held-out queries, 24 documents, ndcg@10" in evaluated.out
    assert "policy against keep: " in evaluated.out
    decided = cli("rewrite", "money back", "--policy", policy, "--data", data, *TFIDF)
    assert (decided.code, decided.err) == (0, "")
    assert "reason: policy" in decided.out
    assert any(id_ in decided.out for id_ in DOCUMENTS)


NOISY = """
import os, subprocess, sys
print("imported")
first = sys.stdout

def search(texts, k):
    print("searching", len(texts))
    first.write("by another name\\n")
    os.write(1, b"by its number\\n")
    subprocess.run([sys.executable, "-c", "print('by a process')"], check=True)
    if texts == ["fail now"]:
        raise SystemExit("never mind")
    return [[("refund", 1.0)] for _ in texts]
"""


def test_code_of_the_users_own_may_print(
    cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noisy_search.py").write_text(NOISY, "utf-8")
    own = ("--retriever", "noisy_search:search", "--actions", "keywords")
    found = cli("headroom", data, *own, "--json")
    assert found.record["n_queries"] > 0
    for printed in ("imported", "searching", "by another name", "by its number", "by a process"):
        assert printed in found.err
    in_words = cli("headroom", data, *own)
    assert "searching" in in_words.out


def test_standard_output_is_given_back_after_an_error(cli: Cli, capfd: Any) -> None:
    failed = cli("headroom", "no-such-folder", *("--json",))
    assert failed.complaint
    sys.stdout.write("printed later\n")
    assert capfd.readouterr() == ("printed later\n", "")


def test_names_of_references_win_over_folders(
    cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep").mkdir()
    trained = cli("train", data, "--out", "policy", *TFIDF, *QUICK, "--reference", "keep", "--json")
    assert trained.code == 0
    assert Path("policy", "policy.safetensors").exists()


def test_the_help_names_formats_and_counts(cli: Cli) -> None:
    text = " ".join(cli("headroom", "--help").out.replace("\u2502", " ").split())
    for part in ("TREC", "CSV", "JSON-lines", "LangSmith", "LlamaIndex", "which counts"):
        assert part in text, part
