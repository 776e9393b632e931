"""A policy beside its baselines, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.held_out import evaluate_policy
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from tests.tables import table_of

POLICY = MlpPolicy((Layer(np.eye(3, dtype=np.float32), np.zeros(3, np.float32)),))
"""Takes the action whose number in the state is largest."""
TABLE = table_of(
    [[0.5, 0.7, 0.1], [0.5, 0.2, 0.9], [0.5, 0.9, 0.5], [0.5, 0.5, 0.4]],
    states=[[0, 1, 0], [0, 1, 2], [0, 1, 2], [3, 1, 2]],
    mask=[[True, True, True], [True, True, True], [True, True, False], [True, True, True]],
)


def test_every_contender_gets_its_own_values() -> None:
    found = evaluate_policy(POLICY, TABLE, "a2")
    assert found.chosen.tolist() == [1, 2, 1, 0]
    assert found.policy.tolist() == [0.7, 0.9, 0.9, 0.5]
    assert found.keep.tolist() == [0.5] * 4
    assert found.best_fixed.tolist() == [0.1, 0.9, 0.5, 0.4]
    assert found.oracle.tolist() == [0.7, 0.9, 0.9, 0.5]
    assert found.best_fixed_action == "a2"


def test_means_and_shares() -> None:
    found = evaluate_policy(POLICY, TABLE, "a2")
    assert found.means == pytest.approx({"keep": 0.5, "a1": 0.575, "a2": 0.475})
    assert found.action_share == {"a1": 0.5, "a2": 0.25, "keep": 0.25}


def test_comparisons_are_paired_and_grouped() -> None:
    groups = ["x", "x", "y", "z"]
    found = evaluate_policy(POLICY, TABLE, "a2", groups=groups, seed=5)
    assert found.versus_keep == compare(found.policy, found.keep, groups=groups, seed=5)
    assert found.versus_best_fixed == compare(found.policy, found.best_fixed, groups=groups, seed=5)
    assert found.versus_keep.delta == pytest.approx(0.25)
