"""``simulate-logs`` with drawn weights: its log judges blends of other numbers, end to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.policies.checkpoint import save_checkpoint
from tests.integration.cli.conftest import TFIDF, Cli
from tests.support import blend_checkpoint

N = 300


@pytest.fixture(scope="module")
def policies(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies that take a blend, of other numbers."""
    made = tmp_path_factory.mktemp("policies")
    logged = blend_checkpoint(open_workbench(str(data), StoreConfig(embedder="tfidf")).retriever)
    [blend] = logged.blends
    bias = np.linspace(0.2, -0.2, len(blend.head.views), dtype=np.float32)
    others = [action for action in logged.actions if not isinstance(action, LearnedBlend)]
    actions = ActionSpace((*others, LearnedBlend(replace(blend.head, bias=bias))))
    save_checkpoint(logged, made / "logged")
    save_checkpoint(replace(logged, actions=actions), made / "other")
    return made


@pytest.fixture
def log(cli: Cli, data: Path, policies: Path, tmp_path: Path) -> Path:
    out = tmp_path / "log.jsonl"
    drawn = ("--policy", policies / "logged", "--sigma", 0.4, "-n", N, "--out", out)
    found = cli("simulate-logs", data, *TFIDF, *drawn, "--json")
    assert (found.code, found.err) == (0, "")
    assert (found.record["decisions"], found.record["sigma"]) == (N, 0.4)
    return out


def test_a_simulated_log_of_drawn_weights_judges_blends(
    cli: Cli, policies: Path, log: Path
) -> None:
    assert cli("logs", "inspect", log, "--json").record["problems"] == []
    for name in ("logged", "other"):
        found = cli("ope", "--policy", policies / name, "--logs", log, "--json")
        assert found.code == 0
        [warning] = found.record["warnings"]
        assert "is judged with weights drawn around its own, as those of the log" in warning
        assert "snips" in found.record["estimates"]
    judged = ("--policy", policies / "other", "--baseline", policies / "logged", "--logs", log)
    assert cli("gate", *judged, "--json").record["estimator"] == "snips"


def test_weights_of_no_blend_are_not_drawn(cli: Cli, data: Path, tmp_path: Path) -> None:
    words = ("simulate-logs", data, *TFIDF, "--sigma", 0.3, "--out", tmp_path / "log.jsonl")
    said = "sigma 0.3 is for the weights of a learned blend, and 'uniform' has none: name"
    assert cli(*words).complaint.startswith(said)
    assert not (tmp_path / "log.jsonl").exists()
