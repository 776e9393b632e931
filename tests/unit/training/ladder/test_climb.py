"""Which rung stands, on values made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.ladder.climb import Rung, climb
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import group_folds

N = 100
FOLDS = group_folds([str(row) for row in range(N)], 5, seed=0)


def stands(gains: dict[str, float], config: LadderConfig | None = None) -> Rung:
    """The rung that stands where rungs have mean gains over keep with a deviation of .1."""
    noise = np.random.default_rng(0).standard_normal((3, N))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    values: dict[Rung, np.ndarray] = {"keep": np.full(N, 0.5)}
    names: tuple[Rung, ...] = ("single", "same_for_all", "by_query")
    for row, name in enumerate(names):
        if name in gains:
            values[name] = 0.5 + gains[name] + 0.1 * noise[row]
    return climb(values, FOLDS, config or LadderConfig())[0]


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ({}, "keep"),
        ({"single": -0.1, "same_for_all": -0.1, "by_query": -0.1}, "keep"),
        ({"single": 0.005}, "keep"),
        ({"single": 0.02}, "single"),
        ({"single": 0.05, "same_for_all": 0.052}, "single"),
        ({"single": 0.05, "same_for_all": 0.08}, "same_for_all"),
        ({"single": 0.05, "same_for_all": 0.08, "by_query": 0.085}, "same_for_all"),
        ({"single": 0.05, "same_for_all": 0.08, "by_query": 0.12}, "by_query"),
        ({"single": 0.05, "same_for_all": 0.051, "by_query": 0.12}, "by_query"),
        ({"single": 0.08, "same_for_all": 0.085, "by_query": 0.11}, "by_query"),
        ({"single": 0.02, "same_for_all": 0.025, "by_query": 0.037}, "single"),
        ({"same_for_all": 0.05}, "same_for_all"),
    ],
)
def test_a_rung_is_climbed_where_its_gain_is_clear(gains: dict[str, float], expected: Rung) -> None:
    assert stands(gains) == expected


def test_how_clear_is_a_setting() -> None:
    assert stands({"single": 0.02}, LadderConfig(single=5.0)) == "keep"
    assert stands({"single": 0.002}, LadderConfig(single=0.0)) == "single"


def test_what_is_level_with_keep_is_not_taken() -> None:
    values: dict[Rung, np.ndarray] = {"keep": np.full(N, 0.5), "single": np.full(N, 0.5)}
    assert climb(values, FOLDS, LadderConfig(single=0.0))[0] == "keep"


def test_what_rounding_makes_of_level_values_is_no_gain() -> None:
    keep = np.random.default_rng(0).random(N)
    values: dict[Rung, np.ndarray] = {"keep": keep, "single": keep * (1.0 + 1e-15)}
    assert climb(values, FOLDS, LadderConfig())[0] == "keep"


def test_each_step_tells_its_gain() -> None:
    values: dict[Rung, np.ndarray] = {"keep": np.zeros(N), "single": np.full(N, 0.25)}
    _, (step,) = climb(values, FOLDS, LadderConfig())
    assert step.in_words == (
        "single taken over keep: +0.2500 with a standard error of 0.0000, "
        "0.5 of which it has to be above"
    )
