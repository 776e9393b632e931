"""Weights that other collections taught, on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rl_rewriter.cli.options.ladder import LadderOptions
from rl_rewriter.training.blend.config import BlendConfig, ListwiseConfig
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.config import LadderConfig
from tests.integration.cli.conftest import QUICK, Cli

SAID = "weights start from a prior that other collections taught"


def test_a_prior_is_what_a_blend_starts_from_where_it_is_asked_for(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    words = ("train", data, "--embedder", "minilm", *QUICK, "--json")
    told = cli(*words, "--prior", "--out", tmp_path / "with").record["ladder"]["messages"]
    assert SAID in told
    told = cli(*words, "--out", tmp_path / "without").record["ladder"]["messages"]
    assert SAID not in told


def test_options_leave_other_settings_of_a_fit_as_they_are() -> None:
    fit = FitConfig(
        blend=BlendConfig(listwise=ListwiseConfig(steps=7)), ladder=LadderConfig(folds=3)
    )
    found = LadderOptions(prior=True, hurt_limit=0.1).applied_to(fit)
    assert (found.blend, found.ladder) == (
        BlendConfig(listwise=ListwiseConfig(steps=7), prior="shipped"),
        LadderConfig(folds=3, hurt_limit=0.1),
    )
    assert LadderOptions(blend=False).applied_to(fit) == replace(fit, blend=None)


def test_a_fit_without_either_gets_the_defaults() -> None:
    assert LadderOptions().applied_to(FitConfig(blend=None, ladder=None)) == FitConfig()


@pytest.mark.parametrize(("wanted", "prior"), [(True, "shipped"), (False, None)])
def test_the_option_is_a_setting_of_the_library(wanted: bool, prior: str | None) -> None:
    config = LadderOptions(prior=wanted).applied_to(FitConfig())
    assert config.blend is not None
    assert config.blend.prior == prior


NO_BLEND = (
    "--prior is what a blend starts from, and --no-blend learns none: leave out one of the two"
)


@pytest.mark.parametrize("command", ["train", "benchmark", "demo"])
def test_a_prior_of_no_blend_is_refused(cli: Cli, data: Path, tmp_path: Path, command: str) -> None:
    learned_from = () if command == "demo" else (data,)
    words = (command, *learned_from, "--prior", "--no-blend", "--out", tmp_path / "out")
    assert cli(*words).complaint == NO_BLEND
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["train", "benchmark"])
@pytest.mark.parametrize("patterns", ["keywords", "!blend"])
def test_a_prior_of_a_blend_that_patterns_leave_out_is_refused(
    cli: Cli, data: Path, tmp_path: Path, command: str, patterns: str
) -> None:
    words = (command, data, "--prior", "--actions", patterns, "--out", tmp_path / "out")
    assert cli(*words).complaint == (
        f"--prior is what a blend starts from, and --actions {patterns!r} learns none: "
        'choose "blend" by a pattern, too, or leave out --prior'
    )
    assert not (tmp_path / "out").exists()


def test_a_prior_of_logs_without_their_collection_is_refused(cli: Cli, tmp_path: Path) -> None:
    words = ("train", "--logs", tmp_path / "log.jsonl", "--prior", "--out", tmp_path / "out")
    assert cli(*words).complaint == (
        "--prior is what a blend starts from, and --logs alone teach none: name the collection "
        "that was searched, by DATA or by --chroma-path DIR --collection NAME, or leave out --prior"
    )
    assert not (tmp_path / "out").exists()


def test_a_prior_of_logs_is_not_refused_where_their_collection_is_named(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    words = ("train", "--logs", log, "--prior", "--out", tmp_path / "out")
    own = ("--chroma-path", tmp_path, "--collection", "mine")
    for named in ((data,), own):
        assert str(log) in cli(*words, *named).complaint


@pytest.mark.parametrize("patterns", [None, "keywords,blend", "!keywords"])
def test_a_prior_stands_where_a_blend_is_learned(patterns: str | None) -> None:
    config = LadderOptions(prior=True).applied_to(FitConfig(), patterns)
    assert config.blend is not None
    assert config.blend.prior == "shipped"
