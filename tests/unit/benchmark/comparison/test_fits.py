"""Policies trained by fold: the same wherever they are trained, and trained once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.fits import Fit, FitTask, fit_all
from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.on_rows import fit_on_rows, training_rows
from tests.tables import identity_task
from tests.unit.benchmark.comparison.conftest import features

TABLE = identity_task(40, 3)


def task(*, seed: int = 0, fold: int = 0, table: RewardTable = TABLE) -> FitTask:
    return FitTask(
        fold=fold,
        table=table,
        groups=tuple(f"need {row // 2}" for row in range(len(table))),
        features=features(table.states.shape[1]),
        config=FitConfig(
            reinforce=ReinforceConfig(
                updates=30, evaluate_every=10, warm_up=5, learning_rate=0.02, seed=seed
            ),
            ladder=None,
        ),
    )


class Counting:
    """Counts the policies that had to be trained."""

    def __init__(self) -> None:
        self.trained = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        assert stage == "training policies"
        self.trained = total
        assert done <= total


def versions(fits: list[Fit]) -> list[str]:
    return [fit.policy.version for fit in fits]


def test_a_policy_is_what_training_on_the_rows_gives() -> None:
    one = task(seed=2)
    [fit] = fit_all([one], None)
    rows = training_rows(one.groups, one.config)
    expected = fit_on_rows(one.table, one.features, rows, one.config)
    assert fit.policy.version == expected.outcome.policy.version
    np.testing.assert_array_equal(fit.features.mean, expected.features.mean)
    assert (fit.fold, fit.seed, fit.action_names) == (0, 2, ("keep", "a1", "a2"))
    assert [look["update"] for look in fit.looks] == [10, 20, 30]
    assert {"validation/reward", "train/kl", "train/entropy", "train/loss"} <= fit.looks[0].keys()


def test_workers_train_the_same_policies_in_the_same_order(tmp_path: Path) -> None:
    tasks = [task(seed=seed) for seed in range(3)]
    here = fit_all(tasks, None)
    with Workers(2) as workers:
        there = fit_all(tasks, tmp_path, workers=workers)
    assert versions(here) == versions(there)
    assert len(set(versions(here))) == 3
    assert [fit.seed for fit in there] == [0, 1, 2]


def test_what_is_trained_is_trained_once(tmp_path: Path) -> None:
    tasks = [task(seed=seed) for seed in range(2)]
    before = fit_all(tasks, tmp_path)
    counting = Counting()
    after = fit_all(tasks, tmp_path, on_progress=counting)
    assert counting.trained == 0
    assert versions(after) == versions(before)
    assert after[1].looks == before[1].looks
    assert after[1].seconds == before[1].seconds > 0
    states = TABLE.states
    np.testing.assert_array_equal(
        after[1].distribution(states, TABLE.mask).probabilities,
        before[1].distribution(states, TABLE.mask).probabilities,
    )


def test_another_seed_trains_its_own_policy_alone(tmp_path: Path) -> None:
    fit_all([task(seed=0), task(seed=1)], tmp_path)
    counting = Counting()
    fit_all([task(seed=0), task(seed=1), task(seed=2)], tmp_path, on_progress=counting)
    assert counting.trained == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"values": TABLE.values + 1e-9},
        {"rewards": TABLE.rewards * 2},
        {"states": TABLE.states + np.float32(1)},
        {"mask": TABLE.mask & (np.arange(3) < 2)},
        {"action_names": ("keep", "a1", "b")},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_other_outcomes_are_another_policy(changed: dict[str, object]) -> None:
    other = dataclasses.replace(TABLE, **changed)  # type: ignore[arg-type]
    assert task(table=other).key != task().key


def test_other_settings_are_another_policy() -> None:
    one = task()
    assert task(seed=1).key != one.key
    assert dataclasses.replace(one, groups=("one", *one.groups[1:])).key != one.key
    assert dataclasses.replace(one, config=FitConfig()).key != one.key
    assert task(fold=1).key == one.key  # equal outcomes, equal policy, whatever the fold is called


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_damaged_file_is_trained_again(tmp_path: Path, content: bytes | None) -> None:
    [before] = fit_all([task()], tmp_path)
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-8] if content is None else content)
    counting = Counting()
    [after] = fit_all([task()], tmp_path, on_progress=counting)
    assert counting.trained == 1
    assert after.policy.version == before.policy.version
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
