"""Weights that other collections taught, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.cli.options.ladder import LadderOptions
from rl_rewriter.training.config import FitConfig
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


@pytest.mark.parametrize("patterns", [None, "keywords,blend", "!keywords"])
def test_a_prior_stands_where_a_blend_is_learned(patterns: str | None) -> None:
    config = LadderOptions(prior=True).applied_to(FitConfig(), patterns)
    assert config.blend is not None
    assert config.blend.prior == "shipped"
