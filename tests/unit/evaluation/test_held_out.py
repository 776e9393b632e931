"""Arms beside their baselines, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.held_out import HeldOut, always, seed_name
from rl_rewriter.evaluation.significance import bootstrap_interval

VALUES = np.array([[0.5, 0.7, 0.1], [0.5, 0.2, 0.9], [0.5, 0.9, 0.5], [0.5, 0.5, 0.4]])
GROUPS = ["x", "x", "y", "z"]
HELD_OUT = HeldOut(
    action_names=("keep", "a1", "a2"),
    metric="ndcg@10",
    values={"ndcg@10": VALUES, "hits@1": (VALUES > 0.6).astype(np.float64)},
    choices={
        "keep": always(0, 4),
        "fixed": always(2, 4),
        "policy": np.array([[1, 2, 1, 0], [1, 1, 0, 0]]),
    },
    groups=GROUPS,
    seed=5,
)


def test_every_arm_gets_the_values_of_what_it_chose() -> None:
    assert len(HELD_OUT) == 4
    assert HELD_OUT.of("keep").tolist() == [0.5] * 4
    assert HELD_OUT.of("fixed").tolist() == [0.1, 0.9, 0.5, 0.4]


def test_an_arm_of_several_seeds_has_their_mean() -> None:
    assert HELD_OUT.by_seed("policy").tolist() == [[0.7, 0.9, 0.9, 0.5], [0.7, 0.2, 0.5, 0.5]]
    assert HELD_OUT.of("policy").tolist() == pytest.approx([0.7, 0.55, 0.7, 0.5])


def test_other_metrics_judge_the_same_choices() -> None:
    assert HELD_OUT.of("policy", "hits@1").tolist() == [1.0, 0.5, 0.5, 0.0]


def test_any_array_of_the_actions_can_be_picked_from() -> None:
    effort = np.arange(24).reshape(4, 3, 2)
    assert HELD_OUT.picked("fixed", effort).tolist() == [[4, 5], [10, 11], [16, 17], [22, 23]]
    assert HELD_OUT.picked("policy", effort)[1].tolist() == [9.0, 10.0]


def test_means_and_shares() -> None:
    assert HELD_OUT.means() == pytest.approx({"keep": 0.5, "a1": 0.575, "a2": 0.475})
    shares = HELD_OUT.action_share("policy")
    assert shares == {"a1": 0.5, "keep": 0.375, "a2": 0.125}
    assert list(shares) == ["a1", "keep", "a2"]
    assert HELD_OUT.action_share("policy", np.array([0, 3])) == {"keep": 0.5, "a1": 0.5}


def test_comparisons_are_paired_and_grouped() -> None:
    policy, keep = HELD_OUT.of("policy"), HELD_OUT.of("keep")
    expected = compare(policy, keep, groups=GROUPS, seed=5)
    assert HELD_OUT.versus("policy", "keep") == expected
    assert expected.delta == pytest.approx(0.1125)
    found = HELD_OUT.versus_keep(["fixed", "policy"])["policy"]
    assert found.p_value == expected.p_value  # three groups: exact
    assert found.ci95 == pytest.approx(expected.ci95)
    assert (found.hurt_share, found.helped_share) == (0.0, 0.75)


def test_intervals_are_those_of_each_arm_alone() -> None:
    expected = bootstrap_interval(HELD_OUT.of("policy"), groups=GROUPS, seed=5)
    assert HELD_OUT.intervals()["policy"] == pytest.approx(expected)
    assert set(HELD_OUT.intervals()) == {"keep", "fixed", "policy"}


def test_no_arm_gives_no_comparison() -> None:
    assert HELD_OUT.versus_keep([]) == {}


def test_what_several_seeds_learned_is_told_as_one() -> None:
    """Each seed's blend is a column of its own; people read of one action."""
    found = HeldOut(
        action_names=("keep", "a~b", "blend", seed_name("blend", 1)),
        metric="ndcg@10",
        values={"ndcg@10": np.array([[0.5, 0.1, 0.7, 0.5], [0.5, 0.1, 0.9, 0.7]])},
        choices={"policy": np.array([[2, 2], [3, 0]])},
    )
    assert replace(found, action_names=("keep", "a~b", "x", "own~1")).means().keys() == {
        "keep",
        "a~b",
        "x",
        "own~1",
    }
    assert seed_name("blend", 0) == "blend"
    assert found.action_names[-1] == "blend~1"
    assert found.of("policy").tolist() == pytest.approx([0.6, 0.7])
    assert found.means() == pytest.approx({"keep": 0.5, "a~b": 0.1, "blend": 0.8})
    assert found.action_share("policy") == {"blend": 0.75, "keep": 0.25}
    assert found.action_share("policy", np.array([1])) == {"keep": 0.5, "blend": 0.5}
