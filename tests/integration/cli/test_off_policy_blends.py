"""``ope`` and ``gate`` of policies with a blend, by logs that drew its weights or didn't."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.actions.blend_logits import weights_of
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import save_checkpoint
from tests.integration.cli.conftest import Cli
from tests.logged import decision, feedback, write_lines
from tests.unit.evaluation.off_policy.blend_worlds import BlendWorld, blend_policy

WORLD = BlendWorld()
LOGGED = blend_policy(0.4, 0.2, 0.2, 0.2)
BETTER = blend_policy(0.34, 0.32, 0.17, 0.17, by_state=0.1)


def records(log: LoggedBandit) -> Iterator[dict[str, Any]]:
    """A log of blends in the published format."""
    logits, densities = log.drawn_logits, log.log_densities
    for row, name in enumerate(log.decision_ids):
        told: dict[str, Any] = {"blends": dict(log.blends[row])}
        if logits is not None and densities is not None:
            told["sigma"] = WORLD.sigma
            if log.actions[row] == 1:
                weights = weights_of(logits[row : row + 1])[0].tolist()
                told["weights"] = dict(zip(log.views, weights, strict=True))
                told["log_density"] = float(densities[row])
        yield decision(
            name,
            action=log.action_names[log.actions[row]],
            probabilities={"keep": 1.0 - WORLD.share, "blend": WORLD.share},
            state=[float(value) for value in log.states[row]],
            state_schema=log.columns_fingerprint,
            policy_version=log.policy_versions[row],
            **told,
        )
        yield feedback(name, float(log.rewards[row]), time=101.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies, a log that drew weights and one that didn't."""
    made = tmp_path_factory.mktemp("blends")
    for name, policy in {"logged": LOGGED, "better": BETTER}.items():
        save_checkpoint(policy, made / name)
    for name, draws in {"drawn": True, "served": False}.items():
        write_lines(made / f"{name}.jsonl", records(WORLD.log(LOGGED, 2000, seed=1, draws=draws)))
    return made


def test_a_log_of_drawn_weights_judges_another_blend(cli: Cli, folder: Path) -> None:
    words = ("--policy", folder / "better", "--logs", folder / "drawn.jsonl", "--json")
    found = cli("ope", *words)
    assert found.code == 0
    low, high = found.record["estimates"]["snips"]["ci95"]
    assert low < WORLD.value(BETTER) < high
    assert any("is judged with weights drawn around its own" in w for w in found.record["warnings"])
    assert "is judged with weights drawn around its own" in found.err
    against = cli("gate", *words, "--baseline", folder / "logged")
    assert against.code == 0
    assert (against.record["promote"], against.record["estimator"]) == (True, "snips")
    gain = WORLD.value(BETTER) - WORLD.value(LOGGED)
    assert against.record["delta"] == pytest.approx(gain, abs=0.08)


def test_a_log_of_served_weights_is_refused_for_another_blend(cli: Cli, folder: Path) -> None:
    words = ("--policy", folder / "better", "--logs", folder / "served.jsonl", "--json")
    found = cli("ope", *words)
    assert found.code == 0
    assert "snips" not in found.record["estimates"]
    sentence = f"100% of the records say nothing of the blend 'blend' of policy {BETTER.version}"
    assert any(warning.startswith(sentence) for warning in found.record["warnings"])
    refused = cli("gate", *words)
    assert refused.code == 3
    assert "log with Exploration(sigma=...), which draws weights" in refused.record["reason"]


def test_a_log_of_served_weights_judges_the_same_blend_as_ever(cli: Cli, folder: Path) -> None:
    found = cli("ope", "--policy", folder / "logged", "--logs", folder / "served.jsonl", "--json")
    assert (found.code, found.record["warnings"]) == (0, [])
    log = WORLD.log(LOGGED, 2000, seed=1, draws=False)
    snips = found.record["estimates"]["snips"]["value"]
    assert snips == pytest.approx(log.rewards[log.actions == 1].mean())
