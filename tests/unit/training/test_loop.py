"""The loop keeps the policy that serves validation queries best, and writes down what it saw."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.training.config import FitConfig, ReferenceName, ReinforceConfig
from rl_rewriter.training.loop import reference_policy, train_on_tables
from tests.tables import identity_task, table_of

STATES = np.random.default_rng(0).standard_normal((60, 4))
TRAIN = table_of(np.tile([0.4, 0.3, 0.9], (60, 1)), states=STATES)
"""Action a2 is best for every query."""


def settings(**changes: object) -> FitConfig:
    base = {"updates": 60, "evaluate_every": 1, "warm_up": 10, "learning_rate": 0.01}
    return FitConfig(reinforce=ReinforceConfig(**(base | changes)))  # type: ignore[arg-type]


def value_of(policy: MlpPolicy, table: RewardTable) -> float:
    greedy = policy.distribution(table.states, table.mask).greedy()
    return float(table.values[np.arange(len(table)), greedy].mean())


def validation_rewards(folder: Path) -> dict[int, float]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return {row["update"]: row["validation/reward"] for row in map(json.loads, lines)}


def test_the_policy_with_the_best_validation_reward_is_kept(tmp_path: Path) -> None:
    # Action a2 gains much where the first number of the state is positive, which is learned early,
    # and little elsewhere, which is learned late and hurts the validation queries.
    early = STATES[:, 0] > 0
    train = table_of(np.where(early[:, None], [0, 0, 0.9], [0, 0, 0.2]), states=STATES)
    validation = table_of(np.where(early[:, None], [0.5, 0, 0.8], [0.5, 0, 0]), states=STATES)

    outcome = train_on_tables(train, validation, settings(), metrics_dir=tmp_path)

    seen = {0: 0.0, **validation_rewards(tmp_path)}  # before any update, queries are kept
    best = max(seen.values())
    assert outcome.update == min(update for update, reward in seen.items() if reward == best)
    assert 0 < outcome.update < 60
    assert seen[60] < 0 < best
    assert outcome.validation["policy"] == value_of(outcome.policy, validation)
    assert outcome.validation["policy"] - validation.values[:, 0].mean() == pytest.approx(best)


def test_the_kept_policy_is_that_of_its_update() -> None:
    full = train_on_tables(TRAIN, TRAIN, settings())
    stopped = train_on_tables(TRAIN, TRAIN, settings(updates=full.update))
    assert full.update < 60
    assert stopped.policy.version == full.policy.version


def test_rewards_choose_the_policy_and_not_the_metric() -> None:
    """Where an action costs more than it gains, the policy that leaves it alone is better."""
    priced = table_of(TRAIN.values, states=STATES, rewards=np.tile([0.0, -9.0, -0.1], (60, 1)))
    outcome = train_on_tables(TRAIN, priced, settings())
    assert outcome.validation["policy"] == outcome.validation["keep"] == pytest.approx(0.4)


def test_the_outcome_says_what_keep_and_the_best_single_action_reach() -> None:
    validation = table_of([[0.1, 0.9, 0.5], [0.3, 0.9, 0.6]], states=STATES[:2])
    outcome = train_on_tables(TRAIN, validation, settings(updates=2))
    assert outcome.validation["keep"] == pytest.approx(0.2)
    assert outcome.validation["best_fixed"] == pytest.approx(0.55)


def test_the_kl_is_that_of_the_kept_policy_on_the_training_queries() -> None:
    outcome = train_on_tables(TRAIN, TRAIN, settings())
    reference = reference_policy(FitConfig(), 2, 3).distribution(TRAIN.states, TRAIN.mask)
    learned = outcome.policy.distribution(TRAIN.states, TRAIN.mask)
    assert outcome.kl == pytest.approx(learned.kl(reference).mean())
    assert outcome.kl > 0.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("keep", [0.9, 0.05, 0.05]),
        ("best-fixed", [0.05, 0.05, 0.9]),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_what_the_policy_is_held_to(name: ReferenceName, expected: list[float]) -> None:
    reference = reference_policy(FitConfig(reference=name), 2, 3)
    np.testing.assert_allclose(reference.probabilities, expected)


@pytest.mark.parametrize(("name", "greedy"), [("keep", 0), ("best-fixed", 2)])
def test_training_starts_from_the_reference(name: ReferenceName, greedy: int) -> None:
    config = FitConfig(
        reference=name, reference_probability=0.98, reinforce=ReinforceConfig(updates=1)
    )
    outcome = train_on_tables(TRAIN, TRAIN, config)
    found = outcome.policy.distribution(TRAIN.states, TRAIN.mask)
    assert (found.greedy() == greedy).all()
    assert outcome.kl < 0.01


def test_metrics_and_progress_come_at_each_look(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    train_on_tables(
        TRAIN,
        TRAIN,
        settings(updates=25, evaluate_every=10),
        on_progress=lambda *args: told.append(args),
        metrics_dir=tmp_path / "new" / "folder",
    )
    rows = [
        json.loads(line)
        for line in (tmp_path / "new" / "folder" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [row["update"] for row in rows] == [10, 20, 25]
    assert told == [("training", 10, 25), ("training", 20, 25), ("training", 25, 25)]
    names = {"reward", "loss", "kl", "entropy", "beta", "grad_norm"}
    for row in rows:
        assert set(row) == {"update", "validation/reward", *(f"train/{name}" for name in names)}
        assert all(np.isfinite(value) for value in row.values())
    assert list((tmp_path / "new" / "folder").glob("events.out.tfevents.*"))


def test_writing_metrics_changes_nothing(tmp_path: Path) -> None:
    table = identity_task(64, 3)
    config = settings(updates=30)
    silent = train_on_tables(table, table, config)
    assert silent.update > 0
    assert train_on_tables(table, table, config, metrics_dir=tmp_path).policy.version == (
        silent.policy.version
    )


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"updates": 0}, "updates, batch_size and evaluate_every must be at least 1"),
        ({"batch_size": 0}, "updates, batch_size and evaluate_every must be at least 1"),
        ({"evaluate_every": 0}, "updates, batch_size and evaluate_every must be at least 1"),
        ({"samples": 1}, "samples at least 2"),
        ({"learning_rate": 0.0}, "learning_rate must be finite and > 0, got 0.0"),
        ({"learning_rate": math.nan}, "learning_rate must be finite and > 0, got nan"),
        ({"clip_norm": 0.0}, "clip_norm must be finite and > 0"),
        ({"weight_decay": -1.0}, "weight_decay must be finite and >= 0"),
        ({"hidden": (64, 0)}, r"at least one unit each, got \(64, 0\)"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ReinforceConfig(**wrong)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, float("nan")])
def test_a_validation_share_that_leaves_one_side_empty_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"validation_share must lie in \(0, 1\), got"):
        FitConfig(validation_share=share)


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(InputError, match=r"reference must be .* got 'best'"):
        FitConfig(reference="best")  # type: ignore[arg-type]


def test_episodes_are_drawn_actions() -> None:
    assert ReinforceConfig(updates=3, batch_size=5, samples=7).episodes == 105


def test_where_nothing_beats_keep_every_query_is_kept() -> None:
    harmful = table_of(np.tile([0.5, 0.0, 0.0], (60, 1)), states=STATES)
    outcome = train_on_tables(TRAIN, harmful, settings())
    assert outcome.update == 0
    assert outcome.validation["policy"] == outcome.validation["keep"]
    found = outcome.policy.distribution(harmful.states, harmful.mask)
    assert (found.greedy() == 0).all()
