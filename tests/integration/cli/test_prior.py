"""Weights that other collections taught, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.cli.options import LadderOptions
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
