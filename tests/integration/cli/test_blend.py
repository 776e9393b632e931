"""Blends on the command line: learned or not, told of, and explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.policies.checkpoint import load_checkpoint, save_checkpoint
from tests.integration.cli.conftest import QUICK, TFIDF, Cli
from tests.support import blend_checkpoint

DENSE = ("--embedder", "minilm")
"""Blends are learned where vectors can be searched."""


def test_training_says_what_stands_and_why(cli: Cli, data: Path, tmp_path: Path) -> None:
    words = ("train", data, *DENSE, *QUICK)
    found = cli(*words, "--out", tmp_path / "a", "--json").record["ladder"]
    assert found["rung"] in ("keep", "single", "same_for_all", "by_query")
    assert found["n_queries"] == 40
    assert {"keep", "single", "same_for_all"} <= set(found["values"])
    assert [step["rung"] for step in found["steps"]][:2] == ["single", "same_for_all"]
    told = cli(*words, "--out", tmp_path / "b").out
    assert "what stands: " in told
    assert "of 40 queries below keep" in told
    assert "standard error" in told


def test_no_blend_is_learned_where_none_is_asked_for(cli: Cli, data: Path, tmp_path: Path) -> None:
    words = ("train", data, *TFIDF, *QUICK, "--no-blend", "--out", tmp_path / "policy")
    assert set(cli(*words, "--json").record["ladder"]["values"]) == {"keep", "single"}
    assert load_checkpoint(tmp_path / "policy").blends == ()
    assert "what stands" in cli(*words).out


@pytest.mark.parametrize(
    ("patterns", "learns"),
    [("keywords", False), ("!blend", False), ("keywords,blend", True), ("blend", True)],
)
def test_patterns_of_actions_choose_the_blend_as_well(
    cli: Cli, data: Path, tmp_path: Path, patterns: str, learns: bool
) -> None:
    words = ("train", data, *DENSE, *QUICK, "--actions", patterns, "--out", tmp_path / "policy")
    found = cli(*words, "--json")
    assert found.code == 0
    assert ("same_for_all" in found.record["ladder"]["values"]) is learns


@pytest.mark.parametrize(("patterns", "learns"), [("keywords", False), ("keywords,blend", True)])
def test_patterns_of_a_comparison_choose_the_blend_as_well(
    cli: Cli, data: Path, tmp_path: Path, patterns: str, learns: bool
) -> None:
    words = ("benchmark", data, *TFIDF, "--no-policy", "--actions", patterns, "--out", tmp_path)
    assert cli(*words, "--json").code == 0
    [key] = tmp_path.glob("*/key.json")
    settings = json.loads(key.read_text())["key"]["fit"]
    assert (settings["blend"] is not None) is learns


def test_a_limit_of_harm_is_kept(cli: Cli, data: Path, tmp_path: Path) -> None:
    words = ("train", data, *DENSE, *QUICK, "--out", tmp_path / "policy", "--json")
    found = cli(*words, "--hurt-limit", "0").record["ladder"]
    assert found["served_hurt"] == 0.0
    assert found["on_limit"].startswith("at most 0% of the queries may fall below keep")
    told = cli(*words[:-1], "--hurt-limit", "0").out
    assert found["on_limit"] in " ".join(told.split())


@pytest.mark.parametrize("without", [("--no-blend",), ("--actions", "!blend")])
def test_a_limit_of_harm_is_kept_without_a_blend(
    cli: Cli, data: Path, tmp_path: Path, without: tuple[str, ...]
) -> None:
    words = ("train", data, *TFIDF, *QUICK, *without, "--out", tmp_path / "policy", "--json")
    assert cli(*words).record["ladder"]["on_limit"] == ""
    found = cli(*words, "--hurt-limit", "0").record["ladder"]
    assert set(found["values"]) == {"keep", "single"}
    assert found["served_hurt"] == 0.0
    assert found["on_limit"].startswith("at most 0% of the queries may fall below keep")
    settings = load_checkpoint(tmp_path / "policy").training["settings"]
    assert (settings["blend"], settings["ladder"]["hurt_limit"]) == (None, 0.0)


@pytest.mark.parametrize("without", [("--no-blend",), ("--actions", "keywords")])
def test_a_limit_is_a_setting_of_a_comparison_without_a_blend(
    cli: Cli, data: Path, tmp_path: Path, without: tuple[str, ...]
) -> None:
    words = ("benchmark", data, *TFIDF, "--no-policy", *without, "--hurt-limit", "0.06")
    assert cli(*words, "--out", tmp_path, "--json").code == 0
    [key] = tmp_path.glob("*/key.json")
    settings = json.loads(key.read_text())["key"]["fit"]
    assert (settings["blend"], settings["ladder"]["hurt_limit"]) == (None, 0.06)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hurt-limit", "2"), "hurt_limit must lie in [0, 1], got 2.0"),
        (("--hurt-limit", "0.1", "--logs", "log.jsonl"), "--hurt-limit is for learning from judge"),
    ],
)
def test_limits_that_mean_nothing_are_refused(
    cli: Cli, data: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    ended = cli("train", data, *TFIDF, "--out", tmp_path / "policy", *words)
    assert ended.complaint.startswith(said)


def test_a_decision_tells_what_each_view_weighed(cli: Cli, data: Path, tmp_path: Path) -> None:
    bench = open_workbench(str(data), StoreConfig(embedder="tfidf"))
    save_checkpoint(blend_checkpoint(bench.retriever), tmp_path / "policy")
    words = ("rewrite", "money back", "--policy", tmp_path / "policy", "--data", data, *TFIDF)
    alone = cli(*words)
    assert (alone.code, alone.err) == (0, "")
    [told] = [line for line in alone.out.splitlines() if "blended: " in line]
    assert " the query," in told
    assert "BM25 of the query" in told
    assert "the last answer" not in alone.out
    talk = cli(*words, "--history", "I sent it back", "--history", "Thank you.")
    assert "the last answer" in talk.out.replace("\n", " ")
