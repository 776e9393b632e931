"""The command line as a shell sees it: standard output, standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import rl_rewriter
from rl_rewriter.cli.app import app
from tests.beir import shop, write_beir
from tests.commands import exit_code
from tests.forms import COLLECTION, DECISION, HEADROOM, TRAIN, assert_has_form
from tests.support import DOCUMENTS

ROOT = Path(__file__).parents[2]
TFIDF = ("--embedder", "tfidf")
QUICK = ("--updates", "20")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one JSON object that is the whole of standard output."""
        found: dict[str, Any] = json.loads(self.out)
        assert self.out.count("\n") == 1
        return found

    @property
    def complaint(self) -> str:
        """The one line of standard error that an error ends with."""
        assert self.code == 1, self
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        return self.err.removeprefix("error: ").rstrip("\n")


Cli = Callable[..., Ended]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command and captures what it writes, by whatever way."""

    def run(*arguments: object) -> Ended:
        capfd.readouterr()
        code = exit_code(*arguments)
        return Ended(code, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop(tmp_path_factory.mktemp("data") / "shop")


@pytest.fixture(scope="module")
def policy(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy trained on the shop by the command itself."""
    folder = tmp_path_factory.mktemp("trained") / "policy"
    assert exit_code("train", data, "--out", folder, *TFIDF, *QUICK) == 0
    return folder


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all commands, those of groups included."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


COMMANDS = sorted(commands(typer.main.get_command(app)))


def shell(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )


# Help and usage


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
    assert trained.record["algorithm"] == "reinforce"
    assert trained.record["episodes"] == 150 * 128 * 8

    evaluated = cli("evaluate", *world, "--policy", folder, "--out", tmp_path / "run")
    assert (evaluated.code, evaluated.err) == (0, "")
    assert_has_form(evaluated.record, COLLECTION)
    assert evaluated.record["n_queries"] == 150
    assert evaluated.record["policy"]["value"] > evaluated.record["actions"]["keep"]
    [written] = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))["collections"]
    assert written == evaluated.record
    assert (tmp_path / "run" / "policy.run").exists()
    assert (tmp_path / "run" / "per_query.parquet").exists()

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
    assert printed.record["warnings"][0].startswith("only 14 training queries")
    told = cli(*words, "--out", tmp_path / "b")
    assert "warning: only 14 training queries" in told.out


def test_equal_seeds_train_equal_policies(cli: Cli, data: Path, tmp_path: Path) -> None:
    versions = [
        cli(
            *("train", data, *TFIDF, "--updates", "100", "--json"),
            *("--out", tmp_path / "policy", "--seed", seed),
        ).record["policy_version"]
        for seed in (1, 1, 2)
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
    assert (trained.code, trained.err) == (0, "")
    assert f"saved to {tmp_path / 'policy'}" in trained.out
    evaluated = cli("evaluate", data, "--policy", policy, *TFIDF)
    assert (evaluated.code, evaluated.err) == (0, "")
    assert "shop: 20 held-out queries, 24 documents, ndcg@10" in evaluated.out
    assert "policy against keep: " in evaluated.out
    decided = cli("rewrite", "money back", "--policy", policy, "--data", data, *TFIDF)
    assert (decided.code, decided.err) == (0, "")
    assert "reason: policy" in decided.out
    assert any(id_ in decided.out for id_ in DOCUMENTS)


# Errors


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("headroom nowhere", "there is no folder nowhere; DATA must be a folder in BEIR layout"),
        ("headroom simulator:x", "the simulator's seed must be a whole number, got 'x'"),
        ("headroom fixture --metric accuracy@3", "unknown metric 'accuracy@3'"),
        ("headroom fixture --metric ndcg", "unknown metric 'ndcg'"),
        ("headroom fixture --limit-queries 0", "the number of queries must be at least 1, got 0"),
        ("headroom fixture --base faiss", "unknown base retriever 'faiss'"),
        ("headroom fixture --chroma-path x", "name the collection of your Chroma"),
        ("train fixture --out OUT --beta much", 'beta must be a number or "adaptive:TARGET"'),
        ("train fixture --out OUT --beta=-1", "beta of the KL term must be finite and >= 0"),
        ("train fixture --out OUT --reference best", "reference must be "),
        ("train fixture --out OUT --algorithm magic", "unknown algorithm 'magic'"),
        ("train fixture --out OUT --updates 0", "updates, batch_size and evaluate_every must be"),
        ("evaluate fixture --policy nowhere", "nowhere/manifest.json does not exist"),
        ("rewrite text --policy nowhere", "nowhere/manifest.json does not exist"),
        ("demo --data cooking --out OUT", "there is no folder cooking"),
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
    assert "InputError: there is no folder nowhere" in done.stderr.splitlines()[-1]


# What isn't installed

HIDE = """
import sys

from tests.hiding import hide

hide(sys.argv.pop(1))

from rl_rewriter.cli import main

main()
"""


@pytest.mark.parametrize(
    ("hidden", "words", "expected"),
    [
        ("typer", "--help", 'typer is not installed; run: pip install "rl-rewriter[train]"'),
        ("rich", "--help", 'rich is not installed; run: pip install "rl-rewriter[train]"'),
        (
            "torch",
            "train DATA --out OUT --base bm25",
            'torch is not installed; run: pip install "rl-rewriter[train]"',
        ),
        (
            "sklearn",
            "headroom DATA --base tfidf",
            'scikit-learn is not installed; run: pip install "rl-rewriter[train]"',
        ),
        (
            "chromadb",
            "headroom DATA --embedder minilm",
            'chromadb is not installed; run: pip install "rl-rewriter[chroma]"',
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_the_line_that_installs_it(
    data: Path, tmp_path: Path, hidden: str, words: str, expected: str
) -> None:
    words = words.replace("DATA", str(data)).replace("OUT", str(tmp_path / "policy"))
    done = shell(HIDE, hidden, *words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {expected}\n"
