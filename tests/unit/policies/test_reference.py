"""Policies that look at nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.policies.reference import ReferencePolicy, always, mostly, uniform

STATES = np.zeros((2, 3), dtype=np.float32)
MASK = np.asarray([[True, True, True, True], [True, True, False, False]])


def rows(policy: ReferencePolicy) -> list[list[float]]:
    found: list[list[float]] = policy.distribution(STATES, MASK).probabilities.tolist()
    return found


def test_uniform_over_what_is_possible() -> None:
    assert rows(uniform(4)) == [[0.25] * 4, [0.5, 0.5, 0, 0]]


def test_mostly_one_action() -> None:
    found = rows(mostly(0, 4, probability=0.7))
    assert found[0] == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert found[1] == pytest.approx([0.7 / 0.8, 0.1 / 0.8, 0, 0])


def test_always_one_action_or_keep_where_it_is_masked() -> None:
    assert rows(always(2, 4)) == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert rows(always(0, 4)) == [[1, 0, 0, 0], [1, 0, 0, 0]]
    one = mostly(0, 1).distribution(STATES, MASK[:, :1]).probabilities
    assert one.tolist() == [[1.0], [1.0]]


def test_versions_follow_the_probabilities() -> None:
    policies = [uniform(4), mostly(0, 4), mostly(1, 4), mostly(0, 4, probability=0.8)]
    assert len({policy.version for policy in policies}) == 4
    assert uniform(4).version == uniform(4).version


@pytest.mark.parametrize("action", [-1, 4])
def test_unknown_actions_are_refused(action: int) -> None:
    with pytest.raises(InputError, match=f"no action {action} among 4"):
        mostly(action, 4)


@pytest.mark.parametrize("probability", [0.0, -0.1, 1.1, float("nan")])
def test_probabilities_are_probabilities(probability: float) -> None:
    with pytest.raises(InputError, match="probability must lie in"):
        mostly(0, 4, probability=probability)
